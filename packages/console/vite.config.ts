import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** Our modules have no side effects, so that unused exports are left out of the build. */
const isDeclarative = (id: string): boolean =>
  /\/packages\/(?:protocol|spec|views|model|engine|explain|sim)\/src\//.test(id);

export default defineConfig({
  plugins: [react(), tailwindcss()],
  worker: { format: "es" },
  build: {
    // The oldest browsers that support `light-dark()` and OKLCH, which the colour tokens need.
    target: ["chrome123", "firefox120", "safari17.5"],
    // A data: URL for a small asset would need an exception in the content security policy.
    assetsInlineLimit: 0,
    rolldownOptions: {
      // The console, and the page of a gateway's own admin address.
      input: ["index.html", "gateway.html"],
      treeshake: { moduleSideEffects: (id) => !isDeclarative(id) },
    },
  },
});
