/**
 * NVIDIA's Xid errors: what each means and what NVIDIA says to do (docs.nvidia.com/deploy/xid-errors, "Xid Catalog" and "Common Xid
 * errors", in our own words). Errors that NVIDIA attributes to the application alone are warnings: the node stays in service.
 */
import type { Fault } from "./fault.ts";

type XidEntry = Omit<Fault, "code" | "device">;

const application = (summary: string): XidEntry => ({ severity: "warning", action: "check-application", summary });
const restart = (summary: string): XidEntry => ({ severity: "warning", action: "restart-application", summary });
const reset = (summary: string): XidEntry => ({ severity: "critical", action: "reset-device", summary });
const reboot = (summary: string): XidEntry => ({ severity: "critical", action: "reboot-node", summary });
const watch = (summary: string): XidEntry => ({ severity: "warning", action: "watch", summary });
const link = (summary: string): XidEntry => ({ severity: "critical", action: "check-link", summary });
const note = (summary: string): XidEntry => ({ severity: "info", action: "none", summary });

const entries: ReadonlyMap<number, XidEntry> = new Map([
  [1, application("invalid or corrupted push buffer stream")],
  [2, application("invalid or corrupted push buffer stream")],
  [3, application("invalid or corrupted push buffer stream")],
  [4, application("invalid or corrupted push buffer stream, or a GPU semaphore timeout")],
  [6, application("invalid or corrupted push buffer stream")],
  [7, application("invalid or corrupted push buffer address")],
  [8, application("the GPU stopped processing")],
  [9, application("driver error while programming the GPU")],
  [11, application("invalid or corrupted push buffer stream")],
  [12, application("driver error while handling an exception of the GPU")],
  [13, application("exception of the graphics engine, mostly an access out of bounds by the application")],
  [14, watch("unused by current drivers")],
  [16, application("display engine hung")],
  [18, application("bus mastering disabled in PCI configuration space")],
  [19, watch("display engine error")],
  [25, application("invalid or illegal push buffer stream")],
  [31, application("page fault of the GPU's memory management unit, mostly an illegal address of the application")],
  [32, application("invalid or corrupted push buffer stream, or a bad PCIe link")],
  [38, reset("driver firmware error")],
  [42, watch("video processor exception")],
  [43, application("the GPU stopped processing one application's channel")],
  [44, application("graphics engine fault during a context switch")],
  [45, note("work was removed from the GPU after another error or when its process ended")],
  [46, reset("the GPU stopped processing")],
  [47, watch("video processor exception")],
  [48, reset("uncorrectable double-bit ECC error")],
  [54, { severity: "critical", action: "check-power", summary: "auxiliary power is not connected to the GPU" }],
  [56, watch("display engine error")],
  [57, watch("error in programming the video memory interface")],
  [58, watch("unstable video memory interface, or ECC error")],
  [59, watch("internal microcontroller error")],
  [60, watch("video processor exception")],
  [61, reset("breakpoint of the internal microcontroller")],
  [62, reset("halt of the internal microcontroller")],
  [
    63,
    {
      severity: "warning",
      action: "reset-device",
      summary: "a page was retired or a row remapped; it takes effect at the next reset",
    },
  ],
  [64, reset("a page could not be retired or a row not remapped")],
  [65, watch("video processor exception")],
  [66, application("illegal access by the driver")],
  [67, application("illegal access by the driver")],
  [68, restart("exception of the video decoder")],
  [69, application("class error of the graphics engine")],
  [70, application("unknown error of a copy engine")],
  [71, application("unknown error of a copy engine")],
  [72, application("unknown error of a copy engine")],
  [73, application("unknown error of a video encoder")],
  [74, link("NVLink error")],
  [75, watch("unknown error of a copy engine")],
  [76, watch("unknown error of a copy engine")],
  [77, watch("unknown error of a copy engine")],
  [78, reboot("vGPU start error")],
  [79, reboot("the GPU has fallen off the bus")],
  [80, watch("corrupted data sent to the GPU")],
  [81, watch("error of the VGA subsystem")],
  [82, application("error of the JPEG engine")],
  [83, application("error of the JPEG engine")],
  [88, application("error of the JPEG engine")],
  [92, watch("high rate of single-bit ECC errors")],
  [93, watch("no access to the InfoROM was possible")],
  [94, restart("contained ECC error: only the application that used the memory is affected")],
  [95, reset("uncontained ECC error: every application on the GPU is affected")],
  [96, application("error of the video decoder")],
  [97, application("error of the video decoder")],
  [98, application("error of the video decoder")],
  [99, application("error of the video decoder")],
  [100, application("error of the video decoder")],
  [101, application("error of the video decoder")],
  [102, application("error of the video decoder")],
  [103, application("error of the video decoder")],
  [104, application("error of the JPEG engine")],
  [105, application("error of the optical flow engine")],
  [106, watch("self-test after a reset")],
  [109, reset("timeout of a context switch")],
  [110, reboot("security fault")],
  [111, watch("bundle error of the display")],
  [112, watch("display supervisor error")],
  [113, watch("link training error of a display port")],
  [114, watch("display pipeline underflow")],
  [115, watch("core channel error of the display")],
  [116, watch("window channel error of the display")],
  [117, watch("cursor channel error of the display")],
  [118, watch("pixel pipeline error of the display")],
  [119, reset("timeout of a call to the GPU system processor")],
  [120, reset("error of the GPU system processor")],
  [121, { severity: "warning", action: "check-link", summary: "corrected error of the chip-to-chip link" }],
  [122, watch("read or write of the SPI ROM failed")],
  [123, reset("a message to the power management unit failed")],
  [124, watch("the MIG mode could not be changed")],
  [125, watch("a thread of the graphics engine was preempted for long")],
  [126, watch("the mapping of a graphics engine failed")],
  [128, watch("a vGPU guest was refused a resource")],
  [130, watch("timeout of the firmware security processor")],
  [131, watch("the GPU asked for a restart of its firmware")],
  [134, watch("error of a confidential computing channel")],
  [136, link("the NVLink did not train")],
  [137, restart("NVLink remote access violation, mostly by the application")],
  [140, reset("unrecovered ECC error")],
  [141, watch("unrecoverable error of a fault buffer")],
  [143, reboot("error while the GPU was initialised")],
  [144, link("NVLink error of the serial interface")],
  [145, link("NVLink error of the receive interface")],
  [146, link("NVLink error of the transport layer")],
  [147, link("NVLink error of the translation layer")],
  [148, link("NVLink error of the management layer")],
  [149, link("NVLink error of the network interface")],
  [150, link("NVLink error of the switch interface")],
  [151, reboot("key rotation failed")],
  [152, watch("display error")],
  [154, reset("the recovery action of the GPU changed")],
  [155, link("NVLink software error: the link was shut down")],
  [156, watch("a resource of the GPU was retired")],
  [157, reset("a resource of the GPU could not be retired")],
  [158, reset("the GPU ended with a fatal timeout")],
  [159, watch("a check of the error containment failed")],
  [160, watch("a channel was retired after errors of the memory")],
  [161, watch("a part of the memory is disabled")],
  [162, watch("the power smoothing was disabled")],
  [163, watch("an invalid power setting")],
  [164, watch("a row remap was not possible")],
  [165, watch("a row remap is pending")],
  [166, watch("secure link event")],
  [167, link("the PCIe link did not come up at full width or speed")],
  [168, watch("event of the workload power profile")],
]);

/** `text`: the message after the number. */
export function xidFault(number: number, device: string | null, text: string): Fault {
  const code = `xid-${number}`;
  const known = entries.get(number);
  if (known === undefined) {
    return { code, device, severity: "warning", action: "watch", summary: "error that the catalogue does not list" };
  }
  return { code, device, ...known, ...stated(number, text) };
}

/** Messages of some errors state themselves how bad they are. */
function stated(number: number, text: string): Partial<XidEntry> {
  if (number === 154) {
    if (/\(None\)\s*$/i.test(text)) return { severity: "info", action: "none" };
    if (/reboot/i.test(text)) return { action: "reboot-node" };
  }
  if (number >= 144 && number <= 150 && /\bnon-?fatal\b/i.test(text)) return { severity: "warning" };
  return {};
}
