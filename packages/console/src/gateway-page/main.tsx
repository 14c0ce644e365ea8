/**
 * The page of a gateway's admin address. It asks for the admin token, keeps it until the tab is closed, and sends it
 * with each request. `gateway.html` loads this file.
 */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { config } from "zod";
import { OwnPage } from "./own-page.tsx";
import "../styles/console.css";

// Compiled schemas need `eval`, which the content security policy forbids.
config({ jitless: true });

const root = document.getElementById("root");
if (root === null) throw new Error("gateway.html has no #root");
createRoot(root).render(
  <StrictMode>
    <OwnPage />
  </StrictMode>,
);
