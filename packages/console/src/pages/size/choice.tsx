/** A select field with its label above. */
import { useId } from "react";
import type { ReactElement } from "react";
import { Field, Select } from "../../parts/controls.tsx";

interface ChoiceProps<Value extends string> {
  readonly label: string;
  readonly options: readonly { readonly value: Value; readonly label: string }[];
  readonly value: Value;
  readonly onValue: (value: Value) => void;
}

export function Choice<Value extends string>({ label, options, value, onValue }: ChoiceProps<Value>): ReactElement {
  const id = useId();
  const choose = (text: string): void => {
    const found = options.find((option) => option.value === text);
    if (found !== undefined) onValue(found.value);
  };
  return (
    <Field id={id} label={label}>
      <Select id={id} label={label} options={options} value={value} onValue={choose} />
    </Field>
  );
}

export function namesAsOptions<Name extends string>(
  names: readonly Name[],
): readonly { readonly value: Name; readonly label: string }[] {
  return names.map((name) => ({ value: name, label: name }));
}
