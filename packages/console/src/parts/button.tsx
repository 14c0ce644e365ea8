import type { ButtonHTMLAttributes, ReactElement } from "react";
import { Icon, type IconName } from "./icon.tsx";

type Look = "primary" | "plain" | "quiet" | "danger";

const looks: Readonly<Record<Look, string>> = {
  primary: "bg-accent text-on-accent border-transparent hover:bg-accent-strong",
  plain: "bg-surface text-ink border-line-strong hover:bg-hover",
  quiet: "bg-transparent text-ink-2 border-transparent hover:bg-hover hover:text-ink",
  danger: "bg-bad text-on-bad border-transparent hover:opacity-90",
};

const base =
  "inline-flex items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap select-none disabled:opacity-55";

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: Look;
  readonly icon?: IconName;
}

/** CSS classes for links that look like buttons. */
export const buttonClass = (look: Look): string => `${base} ${looks[look]} h-8 px-3 text-sm pointer-coarse:h-10`;

export function Button({ look = "plain", icon, children, className = "", ...rest }: ButtonProps): ReactElement {
  return (
    <button type="button" className={`${buttonClass(look)} ${className}`} {...rest}>
      {icon === undefined ? null : <Icon name={icon} size={14} />}
      {children}
    </button>
  );
}

interface IconButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "children"> {
  readonly icon: IconName;
  /** Accessible name of the button, shown on hover. */
  readonly label: string;
  readonly look?: Look;
}

export function IconButton({ icon, label, look = "quiet", className = "", ...rest }: IconButtonProps): ReactElement {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={`${base} ${looks[look]} size-8 pointer-coarse:size-10 ${className}`}
      {...rest}
    >
      <Icon name={icon} />
    </button>
  );
}
