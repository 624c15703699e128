// Package request reads the bodies of requests in OpenAI's API and in the Open Inference Protocol.
package request

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Stops are the texts that end an answer. A request may have one text or a list.
type Stops []string

// UnmarshalJSON implements json.Unmarshaler.
func (s *Stops) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*s = Stops{one}
		return nil
	}
	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		return errors.New("want a text or a list of texts")
	}
	*s = list
	return nil
}

// Content is the text of a message. A request may have it as a text or as a list of parts.
type Content string

// UnmarshalJSON implements json.Unmarshaler.
func (c *Content) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, (*string)(c)) == nil {
		return nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return errors.New("the content of a message is a text or a list of parts")
	}
	for _, p := range parts {
		if p.Type != "text" {
			return fmt.Errorf("a part of a message is of type %s, and only text is supported", Short(p.Type))
		}
		*c += Content(p.Text)
	}
	return nil
}

// Prompt is a text or a list of tokens. As in OpenAI's API, a request may also have a list with one of these.
type Prompt struct {
	Text *string // nil if the prompt is a list of tokens
	IDs  []int
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *Prompt) UnmarshalJSON(data []byte) error {
	var one string
	var texts []string
	var ids []int
	var lists [][]int
	switch {
	case json.Unmarshal(data, &one) == nil:
		p.Text = &one
	case json.Unmarshal(data, &ids) == nil && len(ids) > 0:
		p.IDs = ids
	case json.Unmarshal(data, &texts) == nil && len(texts) == 1:
		p.Text = &texts[0]
	case json.Unmarshal(data, &lists) == nil && len(lists) == 1:
		p.IDs = lists[0]
	default:
		return errors.New("want one text, or the tokens of one")
	}
	return nil
}

// Message is one turn of a conversation.
type Message struct {
	Role    string  `json:"role"`
	Content Content `json:"content"`
}

// Short quotes a text of a request for an error message, and cuts it to 40 characters.
func Short(s string) string { return fmt.Sprintf("%.40q", s) }
