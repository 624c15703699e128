package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/devices"
	"github.com/prove-model/prove-model/internal/program"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/nvrtc"
	"github.com/spf13/cobra"
)

// deviceList is the result of the command devices.
type deviceList struct {
	Devices         []deviceState `json:"devices"`
	DevicesReason   string        `json:"devices_reason,omitempty"` // why there are no GPUs
	Compiler        string        `json:"nvrtc,omitempty"`
	CompilerVersion string        `json:"nvrtc_version,omitempty"`
	CompilerReason  string        `json:"nvrtc_reason,omitempty"` // why there is none
}

// deviceState is a GPU as it is now.
type deviceState struct {
	nvrtc.DeviceInfo
	Free  int64  `json:"free_bytes"`      // free memory
	Used  bool   `json:"used"`            // whether the settings would use it; with --gpu alone that is the first one
	Error string `json:"error,omitempty"` // why it cannot be used
}

// newDevices returns the command devices.
func newDevices() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "List the GPUs of this machine, and the compiler for them",
		Long: `List the GPUs of this machine, and NVRTC, which compiles the kernels for them.
Having none is not an error: --gpu then proves on the processor. With --multi-gpu
or --devices, which GPUs these would use.`,
		Args: program.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, cfg *config.Config, _ []string) (err error) {
			return show(cmd, cfg, findDevices(cfg), nil)
		}),
	}
	config.AddFlags(cmd.Flags(), "multi-gpu", "devices", "json")
	return cmd
}

// findDevices lists the GPUs of this machine, and NVRTC.
func findDevices(cfg *config.Config) *deviceList {
	list := &deviceList{Devices: []deviceState{}}
	found, err := nvrtc.Devices()
	switch {
	case err != nil:
		list.DevicesReason = err.Error()
	case len(found) == 0:
		list.DevicesReason = "the driver knows of none"
	default:
		numbers, _ := cfg.DeviceNumbers() // no error: it was checked when the settings were read
		for i, d := range found {
			x := deviceState{DeviceInfo: d, Used: slices.Contains(numbers, i) || numbers == nil && (i == 0 || cfg.MultiGPU)}
			if free, err := devices.FreeMemory(i); err != nil {
				x.Error = err.Error()
			} else {
				x.Free = free
			}
			list.Devices = append(list.Devices, x)
		}
	}
	list.Compiler, list.CompilerVersion, err = nvrtc.Compiler()
	if err != nil {
		list.CompilerReason = err.Error()
	}
	return list
}

// Print writes a table of the GPUs, and a line about NVRTC.
func (l *deviceList) Print(out io.Writer) {
	if l.DevicesReason != "" {
		fmt.Fprintln(out, "no GPU:", l.DevicesReason)
	} else {
		header := []string{"device", "name", "arch", "memory", "free", "used", "processors", "driver's CUDA", "UUID"}
		ui.Table(out, header, seq.Map(l.Devices, func(d deviceState) []string {
			used := "no"
			if d.Used && d.Error == "" {
				used = "yes"
			}
			return ui.Cells("%d\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s", d.Index, d.Name, d.Arch(), ui.Bytes(d.Memory), cmp.Or(d.Error, ui.Bytes(d.Free)), used,
				d.Multiprocessors, d.Driver, d.UUID)
		}))
	}
	switch {
	case l.Compiler != "":
		fmt.Fprintf(out, "NVRTC %s: %s\n", l.CompilerVersion, l.Compiler)
	case l.CompilerReason != l.DevicesReason:
		fmt.Fprintln(out, "no NVRTC:", l.CompilerReason)
	}
}
