// A section that takes files which are dropped on it.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

export function DropZone(props: {
  readonly label: string
  readonly onFiles: (files: FileList | null | undefined) => void
  readonly children: ComponentChildren
}) {
  const [dragged, setDragged] = useState(false)
  return (
    <section
      aria-label={props.label}
      class={dragged ? 'drop over' : 'drop'}
      onDragOver={(event) => {
        event.preventDefault()
        setDragged(true)
      }}
      onDragLeave={() => setDragged(false)}
      onDrop={(event) => {
        event.preventDefault()
        setDragged(false)
        props.onFiles(event.dataTransfer?.files)
      }}
    >
      {props.children}
    </section>
  )
}
