package hf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf/audio"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
)

// transcribes are the fields of config.json and generation_config.json that say how a model of speech writes. Where both files have a
// field, generation_config.json counts.
type transcribes struct {
	Start        *int           `json:"decoder_start_token_id"`
	Forced       [][2]*int      `json:"forced_decoder_ids"` // pairs of a place in the text and the token there
	Languages    map[string]int `json:"lang_to_id"`
	Language     string         `json:"language"`
	Tasks        map[string]int `json:"task_to_id"`
	Task         string         `json:"task"`
	NoTimestamps *int           `json:"no_timestamps_token_id"`
	Timestamps   bool           `json:"return_timestamps"`
	Suppressed   []int          `json:"suppress_tokens"`
	First        []int          `json:"begin_suppress_tokens"`
}

// listens reads the files of a model of speech in dir: preprocessor_config.json, which says how audio becomes a spectrogram, and the
// fields of transcribes.
func (m *Model) listens(dir string) {
	var front struct {
		Kind    string  `json:"feature_extractor_type"`
		Bands   int     `json:"feature_size"`
		Rate    int     `json:"sampling_rate"`
		Hop     int     `json:"hop_length"`
		Seconds int     `json:"chunk_length"`
		Window  int     `json:"n_fft"`
		Padding float64 `json:"padding_value"`
		Dither  float64 `json:"dither"`
		Norm    bool    `json:"do_normalize"`
	}
	front.Rate, front.Hop, front.Seconds, front.Window = 16000, 160, 30, 400
	readFields(dir, "preprocessor_config.json", &front)
	if exists(dir + "/preprocessor_config.json") {
		switch {
		case front.Kind != "" && front.Kind != "WhisperFeatureExtractor":
			refuse.With("preprocessor_config.json: feature_extractor_type is %s, where WhisperFeatureExtractor is understood", graph.Quote(front.Kind))
		case front.Padding != 0 || front.Dither != 0 || front.Norm:
			refuse.With("preprocessor_config.json: padding_value, dither and do_normalize are understood where they are 0 and false")
		case front.Rate != audio.Rate:
			refuse.With("preprocessor_config.json: sampling_rate is %d, where %d is understood", front.Rate, audio.Rate)
		case front.Seconds < 1 || front.Seconds > 1<<7 || front.Window > 1<<12:
			refuse.With("preprocessor_config.json: %d seconds of %d samples, in frames of %d", front.Seconds, front.Rate, front.Window)
		}
		m.Speech.Rate, m.Speech.Samples, m.Speech.Hop, m.Speech.Window = front.Rate, front.Rate*front.Seconds, front.Hop, front.Window
	}
	t := &transcribes{}
	for _, name := range []string{"config.json", "generation_config.json"} { // the latter counts
		readFields(dir, name, t)
	}
	m.transcribes = t
	if t.Start != nil {
		m.Start = []int{*t.Start}
	}
}

// tokens returns the tokens of list in increasing order, each once, and refuses those outside the vocabulary. The list [−1] stands for
// no tokens. field is the name of the list in messages.
func (m *Model) tokens(field string, list []int) []int {
	if slices.Equal(list, []int{-1}) {
		return nil
	}
	list = slices.Compact(slices.Sorted(slices.Values(list)))
	for _, id := range list {
		if id < 0 || id >= m.Vocabulary {
			refuse.With("%s has token %d, where the model's are 0 to %d", field, id, m.Vocabulary-1)
		}
	}
	return list
}

// Transcribe prepares a model of speech for audio in a language such as "en", or, for "", in the language that its files name. It sets
// the tokens that the decoder begins with (Start) and those that it does not write (Speech.Suppressed and Speech.First). For models of
// other kinds it does nothing, and returns an error if a language is given.
func (m *Model) Transcribe(language string) (err error) {
	defer must.Catch(&err)
	t := m.transcribes
	if t == nil {
		if language != "" {
			refuse.With("a language is for models of speech (--language)")
		}
		return nil
	}
	language = cmp.Or(language, t.Language)
	if t.Timestamps {
		refuse.With("generation_config.json: return_timestamps is not supported: set it to false")
	}
	start := slices.Clone(m.Start[:1])
	for i, f := range t.Forced {
		if f[0] == nil || *f[0] != i+1 {
			refuse.With("forced_decoder_ids: entry %d is not for place %d", i, i+1)
		}
		if f[1] == nil && i > 0 {
			refuse.With("forced_decoder_ids: place %d has no token", i+1)
		}
		if f[1] != nil {
			start = append(start, *f[1])
		}
	}
	if t.Languages != nil {
		start = t.spoken(start, language)
	} else if language != "" {
		refuse.With("language %s: generation_config.json lists none (lang_to_id)", graph.Quote(language))
	}
	if t.NoTimestamps != nil && !slices.Contains(start, *t.NoTimestamps) {
		start = append(start, *t.NoTimestamps)
	}
	m.Start = startIn(m.Vocabulary, start)
	m.Speech.Suppressed, m.Speech.First = m.tokens("suppress_tokens", t.Suppressed), m.tokens("begin_suppress_tokens", t.First)
	return nil
}

// TranscribeAs is [Model.Transcribe] for the language in which the decoder begins with the tokens of start. It tries all languages of the
// model, and returns an error if none of them fits.
func (m *Model) TranscribeAs(start []int) error {
	languages := []string{""}
	if m.transcribes != nil {
		for name := range m.transcribes.Languages {
			languages = append(languages, strings.Trim(name, "<|>"))
		}
	}
	var err error
	for _, language := range languages {
		if err = m.Transcribe(language); err == nil && slices.Equal(m.Start, start) {
			return nil
		}
	}
	if err == nil {
		err = fmt.Errorf("the decoder begins with %d, as it does in no language that the model transcribes", start)
	}
	return err
}

// spoken returns the tokens that the decoder begins with in a language: the start token start[0], the token of the language and that of
// the task. If language is "", it returns start, whose forced tokens must then name a language.
func (t *transcribes) spoken(start []int, language string) []int {
	task := cmp.Or(t.Task, "transcribe")
	id, ok := t.Tasks[task]
	if !ok {
		refuse.With("generation_config.json: task %s is not among those of task_to_id", graph.Quote(task))
	}
	if language == "" {
		for _, known := range t.Languages {
			if len(start) > 1 && start[1] == known {
				return start
			}
		}
		refuse.With("the model transcribes %d languages: say which one is spoken (--language en)", len(t.Languages))
	}
	known, ok := t.Languages["<|"+language+"|>"]
	if !ok {
		names := make([]string, 0, len(t.Languages))
		for name := range t.Languages {
			names = append(names, strings.Trim(name, "<|>"))
		}
		slices.Sort(names)
		refuse.With("language %s: the model transcribes %s", graph.Quote(language), strings.Join(names, ", "))
	}
	return append(start[:1:1], known, id)
}
