package wire

// A FieldSpec is the part of a field's description that a schema has too.
type FieldSpec struct {
	Number   int
	Name     string
	Kind     Kind
	Repeated bool // a list; of numbers, it is packed
	// Presence says that a field that is present with the default value differs from an absent one.
	Presence bool
	Oneof    string              // the oneof that the field is a member of; "" for none
	Values   int                 // the number of values of an enumeration, otherwise 0
	Message  func() *MessageSpec // the type of the message; nil if the field is no message
	// Reserved says that number and name are kept for a field of a later release. All other fields of the FieldSpec are then unset.
	Reserved bool
}

// A MessageSpec is the part of a message type's description that a schema has too.
type MessageSpec struct {
	Name   string
	Fields []FieldSpec
}

// Spec returns the part of the table that a schema has too, for comparing them.
func (m *table) Spec() *MessageSpec {
	s := &MessageSpec{Name: m.name}
	for i := range m.fields {
		if m.fields[i].Name != "" {
			s.Fields = append(s.Fields, m.fields[i].FieldSpec)
		}
	}
	return s
}
