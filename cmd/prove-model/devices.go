package main

import (
	"fmt"
	"strconv"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/nvrtc"
	"github.com/spf13/cobra"
)

// deviceList is what devices prints.
type deviceList struct {
	Devices         []nvrtc.DeviceInfo `json:"devices"`
	DevicesReason   string             `json:"devices_reason,omitempty"` // why there are none
	Compiler        string             `json:"nvrtc,omitempty"`
	CompilerVersion string             `json:"nvrtc_version,omitempty"`
	CompilerReason  string             `json:"nvrtc_reason,omitempty"` // why there is none
}

func newDevices() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "List the GPUs of this machine, and the compiler for them",
		Long: `List the GPUs of this machine, and NVRTC, which compiles the kernels for them.
Having none is not an error: --gpu then proves on the processor.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load(cmd)
			if err != nil {
				return err
			}
			list := findDevices()
			if cfg.JSON {
				return ui.JSON(cmd.OutOrStdout(), list)
			}
			return list.print(cmd)
		},
	}
	config.AddFlags(cmd.Flags(), "json")
	return cmd
}

func findDevices() deviceList {
	list := deviceList{Devices: []nvrtc.DeviceInfo{}}
	devices, err := nvrtc.Devices()
	switch {
	case err != nil:
		list.DevicesReason = err.Error()
	case len(devices) == 0:
		list.DevicesReason = "the driver knows of none"
	default:
		list.Devices = devices
	}
	list.Compiler, list.CompilerVersion, err = nvrtc.Compiler()
	if err != nil {
		list.CompilerReason = err.Error()
	}
	return list
}

func (l deviceList) print(cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
	if l.DevicesReason != "" {
		fmt.Fprintln(out, "no GPU:", l.DevicesReason)
	} else {
		rows := make([][]string, len(l.Devices))
		for i, d := range l.Devices {
			rows[i] = []string{strconv.Itoa(d.Index), d.Name, d.Arch(), ui.Bytes(d.Memory), strconv.Itoa(d.Multiprocessors), d.Driver, d.UUID}
		}
		if err := ui.Table(out, []string{"device", "name", "arch", "memory", "processors", "driver's CUDA", "UUID"}, rows); err != nil {
			return err
		}
	}
	switch {
	case l.Compiler != "":
		fmt.Fprintf(out, "NVRTC %s: %s\n", l.CompilerVersion, l.Compiler)
	case l.CompilerReason != l.DevicesReason:
		fmt.Fprintln(out, "no NVRTC:", l.CompilerReason)
	}
	return nil
}
