/** Inputs for toolbars and forms. */
import type { ComponentPropsWithRef, ReactElement, ReactNode } from "react";
import { Icon } from "./icon.tsx";

const box =
  "h-8 rounded-md border border-line-strong bg-surface px-2.5 text-sm text-ink pointer-coarse:h-10 hover:border-ink-3 aria-invalid:border-bad";

export const inputClass = box;

interface SearchInputProps extends Omit<ComponentPropsWithRef<"input">, "onChange" | "type"> {
  readonly label: string;
  readonly onValue: (value: string) => void;
}

/** The key `/` focuses the element with `data-page-search`. */
export function SearchInput({ label, onValue, className = "", ...rest }: SearchInputProps): ReactElement {
  return (
    <div className={`relative ${className}`}>
      <span className="pointer-events-none absolute inset-y-0 left-2.5 flex items-center text-ink-3">
        <Icon name="search" size={14} />
      </span>
      <input
        type="search"
        data-page-search
        aria-label={label}
        placeholder={label}
        className={`${box} w-full pl-8`}
        onChange={(event) => onValue(event.target.value)}
        {...rest}
      />
    </div>
  );
}

interface TextInputProps {
  readonly id: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  /** Its name, where no `Field` with this id gives one. */
  readonly label?: string;
}

export function TextInput({ id, value, onValue, label }: TextInputProps): ReactElement {
  return (
    <input
      id={id}
      value={value}
      aria-label={label}
      autoComplete="off"
      spellCheck={false}
      onChange={({ target }) => onValue(target.value)}
      className={`${box} w-full min-w-0`}
    />
  );
}

export interface SelectOption {
  readonly value: string;
  readonly label: string;
}

interface SelectProps extends Omit<ComponentPropsWithRef<"select">, "onChange"> {
  readonly label: string;
  readonly options: readonly SelectOption[];
  /** More options, in groups under headings. */
  readonly groups?: readonly { readonly label: string; readonly options: readonly SelectOption[] }[];
  readonly onValue: (value: string) => void;
}

export function Select({ label, options, groups = [], onValue, className = "", ...rest }: SelectProps): ReactElement {
  return (
    <select
      aria-label={label}
      className={`${box} max-w-full pr-7 ${className}`}
      onChange={(event) => onValue(event.target.value)}
      {...rest}
    >
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
      {groups.map((group) => (
        <optgroup key={group.label} label={group.label}>
          {group.options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </optgroup>
      ))}
    </select>
  );
}

interface SegmentsProps<Value extends string> {
  readonly label: string;
  readonly name: string;
  readonly value: Value;
  readonly options: readonly { readonly value: Value; readonly label: string }[];
  readonly onValue: (value: Value) => void;
}

/**
 * A choice between a few options that are all visible. It consists of radio buttons, so that arrow keys and screen
 * readers work.
 */
export function Segments<Value extends string>(props: SegmentsProps<Value>): ReactElement {
  const { label, name, value, options, onValue } = props;
  return (
    <fieldset className="scroll-thin flex w-fit max-w-full min-w-0 overflow-x-auto rounded-md border border-line-strong bg-surface p-0.5">
      <legend className="sr-only">{label}</legend>
      {options.map((option) => (
        <label
          key={option.value}
          className="cursor-pointer rounded-sm px-2.5 py-0.5 font-medium whitespace-nowrap text-ink-2 select-none hover:text-ink has-checked:bg-accent-soft has-checked:text-ink has-focus-visible:outline-2 has-focus-visible:outline-accent pointer-coarse:py-1.5"
        >
          <input
            type="radio"
            name={name}
            className="sr-only"
            checked={option.value === value}
            onChange={() => onValue(option.value)}
          />
          {option.label}
        </label>
      ))}
    </fieldset>
  );
}

interface FieldProps {
  readonly id: string;
  readonly label: string;
  readonly hint?: string;
  readonly error?: string | undefined;
  readonly children: ReactNode;
}

export function Field({ id, label, hint, error, children }: FieldProps): ReactElement {
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="font-medium">
        {label}
      </label>
      {children}
      {hint === undefined ? null : (
        <p id={`${id}-hint`} className="text-xs text-ink-3">
          {hint}
        </p>
      )}
      {error === undefined ? null : (
        <p id={`${id}-error`} className="text-xs font-medium text-bad">
          {error}
        </p>
      )}
    </div>
  );
}
