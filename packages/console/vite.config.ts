import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** Our modules without side effects, so that unused exports are not shipped. */
const isDeclarative = (id: string): boolean => /\/packages\/(?:protocol|spec|views|engine|sim)\/src\//.test(id);

export default defineConfig({
  plugins: [react(), tailwindcss()],
  worker: { format: "es" },
  build: {
    // The oldest browsers with `light-dark()` and OKLCH, on which the colour tokens rest.
    target: ["chrome123", "firefox120", "safari17.5"],
    // A data: URL for a small asset would need an exception in the content security policy.
    assetsInlineLimit: 0,
    rolldownOptions: {
      treeshake: { moduleSideEffects: (id) => !isDeclarative(id) },
    },
  },
});
