/** The entry point of the console. `index.html` loads this file; read `shell/gate.tsx` and `routes/router.tsx` next. */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { config } from "zod";
import { isDemoAddress } from "./connect/connect.ts";
import { takePageSession } from "./connect/page-session.ts";
import { Gate } from "./shell/gate.tsx";
import "./styles/console.css";

// Compiled schemas need `eval`, which the content security policy forbids.
config({ jitless: true });

takePageSession(window.location, window.history, window.localStorage);

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <Gate isDemo={isDemoAddress(window.location)} />
  </StrictMode>,
);
