/** A control plane that kills itself at a point of the driver's loop: HOME POINT. */
import { startControlPlane } from "@headroom/server";

const [home = "", fatalPoint = ""] = process.argv.slice(2);
const { url, token } = await startControlPlane({
  home,
  port: 0,
  local: { slotCount: 2, accelerators: "declared" },
  driver: {
    onPoint: (point) => {
      if (point === fatalPoint) process.kill(process.pid, "SIGKILL");
    },
  },
});
process.stdout.write(`listens: ${JSON.stringify({ url, token })}\n`);
