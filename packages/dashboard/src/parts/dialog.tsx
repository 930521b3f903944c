// Modal dialogs on the browser's own element: it traps focus, Escape closes it, and focus returns afterward.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useAction } from '../load.ts'
import { TextField } from './form.tsx'
import { Icon } from './icon.tsx'
import { Failure, Layer } from './states.tsx'
import { Name } from './stored.tsx'
import { visible } from './visible.ts'

export function Dialog(props: {
  readonly title: string
  readonly onClose: () => void
  readonly wide?: boolean
  /** Wraps the content in a form. */
  readonly onSubmit?: () => void
  readonly footer?: ComponentChildren
  readonly children: ComponentChildren
}) {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    element.current?.showModal()
    // Focuses the first input if there is one; otherwise the browser chooses.
    element.current?.querySelector<HTMLElement>('.dialog-body input')?.focus()
    return () => element.current?.close()
  }, [])
  const content = (
    <Layer.Provider value={props.title}>
      <header class="dialog-head">
        <h2>
          <Name text={props.title} />
        </h2>
        <button type="button" class="plain icon" aria-label="Close" onClick={props.onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div class="dialog-body">{props.children}</div>
      {props.footer && <footer class="dialog-foot">{props.footer}</footer>}
    </Layer.Provider>
  )
  return (
    <dialog
      ref={element}
      class={props.wide ? 'wide' : ''}
      aria-label={visible(props.title)}
      onCancel={(event) => {
        event.preventDefault()
        props.onClose()
      }}
    >
      {props.onSubmit === undefined ? (
        <div class="content">{content}</div>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            props.onSubmit?.()
          }}
        >
          {content}
        </form>
      )}
    </dialog>
  )
}

/** The buttons that cancel and submit a dialog. */
export function Buttons(props: {
  readonly onCancel: () => void
  readonly action: string
  /** Shown instead of `action` while the action runs. */
  readonly doing: string
  readonly busy: boolean
  readonly disabled?: boolean
  readonly danger?: boolean
}) {
  return (
    <>
      <button type="button" onClick={props.onCancel}>
        Cancel
      </button>
      <button type="submit" class={props.danger ? 'danger primary' : 'primary'} disabled={props.busy || props.disabled}>
        {props.busy ? props.doing : props.action}
      </button>
    </>
  )
}

/** For actions that cannot be undone: the user must type the name. */
export function TypedConfirmation(props: {
  readonly title: string
  readonly name: string
  readonly action: string
  readonly onConfirm: () => Promise<void>
  readonly onClose: () => void
  readonly children: ComponentChildren
}) {
  const [typed, setTyped] = useState('')
  const { busy, error, run } = useAction()
  const matches = typed === props.name
  return (
    <Dialog
      title={props.title}
      onClose={props.onClose}
      onSubmit={() => void (matches && run(props.onConfirm))}
      footer={
        <Buttons
          onCancel={props.onClose}
          busy={busy}
          doing="Working…"
          action={props.action}
          disabled={!matches}
          danger
        />
      }
    >
      <div class="form">
        {props.children}
        <TextField label={`Type ${visible(props.name)} to confirm`} value={typed} onInput={setTyped} focus />
        {error && <Failure error={error} />}
      </div>
    </Dialog>
  )
}
