import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { Empty } from "../parts/states.tsx";

export function NotFound(): ReactElement {
  return (
    <Empty icon="search" title="There is no such page">
      <p>
        The address may be from another version.{" "}
        <Link to="/" className="text-accent underline">
          Go to the fleet
        </Link>
      </p>
    </Empty>
  );
}
