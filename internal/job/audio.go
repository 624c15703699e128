package job

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/hf/audio"
	"github.com/prove-model/prove-model/hf/corpus"
	"github.com/prove-model/prove-model/hf/families"
	"github.com/prove-model/prove-model/hf/tokenizer"
	"github.com/prove-model/prove-model/internal/must"
)

// listened returns the audio of the settings as a prompt; nil if they have none. Its samples are set later, as they
// depend on the model.
func listened(cfg *config.Config) (_ *Prompt, err error) {
	defer must.Catch(&err)
	switch {
	case cfg.Audio == "":
		return nil, nil
	case cfg.Prompt != "" || cfg.Prompts != "" || cfg.TokensFile != "" || cfg.Chat || len(cfg.Input) > 0:
		return nil, errors.New("--audio is what the model listens to, in place of --prompt, --prompts, --chat, --tokens-file and --input")
	case !hf.Is(cfg.Model):
		return nil, errors.New("--audio is for models of speech, folders in the Hugging Face layout")
	case cfg.MaxTokens == 0:
		return nil, WithHint(errors.New("--audio without --max-tokens: a model of speech writes what it hears"), "say how many tokens at most with --max-tokens")
	}
	sound := must.GetAs(audio.Read(cfg.Audio))("--audio")
	t, err := tokenizer.Open(TokenizerOf(cfg.Model))
	if err != nil {
		t = nil // tokens are printed as numbers
	}
	return &Prompt{Tokenizer: t, sound: sound}, nil
}

// listens says whether the prompt is audio; p may be nil.
func (p *Prompt) listens() bool { return p != nil && p.sound != nil }

// Hear returns a sound as the samples that a speech model takes, padded with silence to the model's length. inputs are the model's
// inputs. It is an error if the model takes no audio, or if the sound is longer than the model's length.
func Hear(sound *audio.Sound, inputs []provemodel.Spec) ([]int, error) {
	at := slices.IndexFunc(inputs, func(s provemodel.Spec) bool { return s.Name == families.Audio })
	if at < 0 {
		return nil, errors.New("the model does not listen to audio")
	}
	most := inputs[at].Shape[0]
	if len(sound.Samples) == 0 {
		return nil, errors.New("the audio is empty")
	}
	if sound.Seconds()*audio.Rate > float64(most) {
		return nil, WithHint(fmt.Errorf("the audio is of %.1f s, and the model listens to %d s at once", sound.Seconds(), most/audio.Rate), "cut it into parts")
	}
	samples := sound.At(audio.Rate)
	return append(samples, make([]int, max(0, most-len(samples)))...)[:most], nil
}

// listen makes the audio of the settings the job's prompt, and sets the samples to calibrate on: the sounds of --calibration if there
// are any, else this audio. Each sample has the beginning of the bundled text as its transcript.
func (j *Job) listen(cfg *config.Config, sounds []*audio.Sound) (err error) {
	defer must.Catch(&err)
	if j.prompt.listens() {
		j.prompt.IDs = must.GetAs(Hear(j.prompt.sound, j.Model.Inputs()))("--audio %s", cfg.Audio)
		j.InputFrom = fmt.Sprintf("the audio %s, %.1f s", cfg.Audio, j.prompt.sound.Seconds())
		j.SamplesFrom = j.InputFrom
		if j.Calibrated = len(sounds) > 0; !j.Calibrated {
			sounds = []*audio.Sound{j.prompt.sound}
		}
	}
	text := j.heard(cfg)
	for i, sound := range sounds {
		samples := must.GetAs(Hear(sound, j.Model.Inputs()))("calibration: sound %d", i+1)
		in := must.Get(j.Model.TextInput(samples, text))
		if j.Samples = append(j.Samples, in); j.Input == nil {
			j.Input = in
		}
	}
	if cfg.Ranges != "" {
		return j.setRanges(cfg)
	}
	return nil
}

// mostHeard is how many tokens, at most, a calibration sample of a speech model has after the tokens that every text
// begins with.
const mostHeard = 32

// heard returns the tokens that stand for a transcript in calibration: the beginning of the bundled text or, without a
// tokenizer, tokens spread evenly over the vocabulary.
func (j *Job) heard(cfg *config.Config) []int {
	g := j.Model.Graph()
	n, bound := max(1, min(mostHeard, j.Model.MostTokens()-len(j.Model.Start())+1)), g.Rows(g.Inputs[0].Name)
	if t, err := tokenizer.Open(TokenizerOf(cfg.Model)); err == nil {
		if texts, err := corpus.Tokens(t, nil, 1, n, bound); err == nil && len(texts) > 0 {
			return texts[0][:min(n, len(texts[0]))]
		}
	}
	text := make([]int, n)
	for i := range text {
		text[i] = i * bound / n
	}
	return text
}

// sounds reads the files of --calibration if they are audio. Either all of them must be, or none.
func sounds(cfg *config.Config) (_ []*audio.Sound, err error) {
	defer must.Catch(&err)
	var list []*audio.Sound
	for _, path := range cfg.Calibration {
		if !strings.EqualFold(filepath.Ext(path), ".wav") {
			if len(list) > 0 {
				return nil, fmt.Errorf("calibration: %s is no WAV file, and others are", path)
			}
			return nil, nil
		}
		sound := must.GetAs(audio.Read(path))("calibration")
		list = append(list, sound)
	}
	return list, nil
}
