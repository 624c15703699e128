package program

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/prove-model/prove-model/config"
)

// servedFlags are the settings that the keys of served models depend on, and the settings of the machine.
var servedFlags = []string{
	"adapter", "base", "calibration", "ranges", "image", "output", "dim", "fix", "tokens", "max-tokens", "mode", "target-error", "headroom", "soundness", "hash", "security-bits", "grind-bits",
	"memory-gb", "chunk-budget-gb", "cpu-workers", "gpu", "gpu-threshold", "multi-gpu", "devices", "gpu-streams", "threads", "no-cache", "cache-dir", "no-resume", "quiet", "json", "progress-json",
}

// Serve returns the command serve without its RunE.
func Serve() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer requests over HTTP with models, and prove the answers",
		Long: `Answer requests over HTTP with models, and prove the answers.

  prove-model serve --model FOLDER    answers on http://127.0.0.1:8080

Language models are asked as in OpenAI's API (/v1/chat/completions and
/v1/completions, with streams), others by the Open Inference Protocol
(/v2/models/NAME/infer). Every answer has a signed receipt, and names the
proof that is made of it: GET /v1/proofs/ID/file. ` + "`verify --receipt`" + ` holds
the three together. What was answered is in the store (--data) before the answer
is complete, and is proved even if the server is killed.

With --batch N up to N answers that wait are proved in one proof, which costs less
than N. Who gets that proof can read all of them: of one API key, or without
--keys, or with --batch-across-keys, of everybody. A request with "alone": true is
proved by itself.

--model may be repeated, as PATH or NAME=PATH, where PATH is also a settings file
(.yaml) with a model's own settings. An ONNX file needs --calibration or --ranges.
A language model's key is for texts of --tokens tokens, of which it writes up to
--max-tokens.

The server listens on this machine alone unless --listen says otherwise; --keys
and --tls-cert are for that. With --cluster it shares the work with others and
with ` + "`prove-model worker`" + `.`,
		Args: NoArgs,
	}
	addServed(cmd.Flags(), "listen", "data", "keys", "prove", "tls-cert", "tls-key", "max-body-mb", "max-queue", "rate", "parallel", "batch", "batch-across-keys", "workers", "webhook", "keep-hours",
		"cluster", "cluster-creds", "cluster-nkey", "cluster-ca", "cluster-cert", "cluster-key", "replicas", "bucket", "traces")
	return cmd
}

// Worker returns the command worker without its RunE.
func Worker() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Prove, for the servers of a cluster, what they have answered",
		Long: `Prove, for the servers of a cluster, what they have answered.

  prove-model worker --cluster nats://HOST --model FOLDER

takes the jobs of the models that it is given, one after the other, from the NATS
servers that ` + "`prove-model serve --cluster`" + ` puts them into. Its models must have
the servers' keys: the same files and settings, or --ranges that commit wrote.
The servers verify what it leaves, so that it is trusted with the texts alone.
A worker that is killed loses nothing: its job is given to another.`,
		Args: NoArgs,
	}
	addServed(cmd.Flags(), "batch", "workers", "cluster", "cluster-creds", "cluster-nkey", "cluster-ca", "cluster-cert", "cluster-key", "bucket", "traces")
	cmd.Flags().Lookup("batch").Usage = "most answers, a `number`, that are proved in one proof, as far as memory allows, of those that servers say may be (default: 16)"
	return cmd
}

// addServed adds the flags of commands that serve models, and those named in more. It replaces the help of flags whose
// meaning differs from that in other commands.
func addServed(flags *pflag.FlagSet, more ...string) {
	flags.StringArray("model", nil, "model: an ONNX or GGUF `file`, a folder in the Hugging Face layout, or a settings file of one; may be repeated, as NAME=PATH")
	config.AddFlags(flags, append(servedFlags, more...)...)
	flags.Lookup("json").Usage = "log as JSON"
	flags.Lookup("quiet").Usage = "log warnings and errors alone"
	flags.Lookup("progress-json").Usage = "print what is done before the server is ready as JSON, one object a line"
	flags.Lookup("max-tokens").Usage = "most `tokens` that a language model writes after a prompt (default: 64, or half of --tokens)"
	flags.Lookup("calibration").Usage = "`file` of sample inputs that set the ranges of an ONNX model, or name=file; may be repeated"
}
