// Package quote puts names from files of others into messages.
package quote

import "fmt"

// most bytes of a name are shown: names can be as long as the file that they are from.
const most = 120

// Name is a name in quotes, with what cannot be printed escaped, shortened.
func Name(s string) string {
	if len(s) > most {
		return fmt.Sprintf("%q…", s[:most])
	}
	return fmt.Sprintf("%q", s)
}
