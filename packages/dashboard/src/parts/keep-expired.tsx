// The choice of every dialog that makes a collection out of another state.
import { Check } from './form.tsx'

export function KeepExpired(props: { readonly checked: boolean; readonly onInput: (checked: boolean) => void }) {
  return (
    <Check
      label="Objects of the new collection do not expire"
      hint="Otherwise they keep their expiry. Those whose time has passed are hidden."
      checked={props.checked}
      onInput={props.onInput}
    />
  )
}
