package wire

// A FieldSpec is what a schema says of a field, too.
type FieldSpec struct {
	Number   int
	Name     string
	Kind     Kind
	Repeated bool // numbers are packed
	// Presence says that a field with the default value is not the same as none.
	Presence bool
	Oneof    string              // of which it is a member; "" for none
	Values   int                 // of an enumeration
	Message  func() *MessageSpec // nil unless it is one
	// Reserved says that the number and the name are kept for a field that a message cannot have yet: the rest is unset.
	Reserved bool
}

// A MessageSpec is what a schema says of a type of messages.
type MessageSpec struct {
	Name   string
	Fields []FieldSpec
}

// Spec returns what the table says that a schema says, too.
func (m *table) Spec() *MessageSpec {
	s := &MessageSpec{Name: m.name}
	for i := range m.fields {
		if m.fields[i].Name != "" {
			s.Fields = append(s.Fields, m.fields[i].FieldSpec)
		}
	}
	return s
}
