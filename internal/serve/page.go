package serve

import "net/http"

func (s *Server) page(w http.ResponseWriter, r *http.Request)     {}
func (s *Server) pageFile(w http.ResponseWriter, r *http.Request) {}
