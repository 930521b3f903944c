// Names and values that others stored. Each is isolated, so that its direction does not reach the page around it, and a long name is cut on
// the screen only: it is whole for screen readers, on hover, and when the keyboard reaches it. Names with characters that
// cannot be seen show them as escapes, so that no two names look alike.
import { useEffect, useRef } from 'preact/hooks'
import { type JsonPiece, jsonPieces } from './json-pieces.ts'
import { visible, visibleName } from './visible.ts'

/** A name on one line. */
export function Name({ text, kind = '' }: { readonly text: string; readonly kind?: string }) {
  const element = useRef<HTMLElement>(null)
  useEffect(() => {
    const name = element.current
    if (name === null) return
    sizes.observe(name)
    return () => sizes.unobserve(name)
  }, [])
  return (
    <bdi ref={element} class={`name ${kind}`} data-whole={visibleName(text)}>
      {visibleName(text)}
    </bdi>
  )
}

/** One for all names of a page. */
const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) reachable(target as HTMLElement)
})

/** A cut name has its whole text as a tip, and is a stop of the keyboard unless it is part of one. */
function reachable(name: HTMLElement): void {
  const part = name.closest('a, button, label, summary')
  // While it has the focus it is shown whole.
  if ((part ?? name).matches(':focus')) return
  const isCut = name.scrollWidth > name.clientWidth
  if (isCut) name.title = name.dataset.whole ?? ''
  else name.removeAttribute('title')
  if (isCut && part === null) name.tabIndex = 0
  else name.removeAttribute('tabindex')
}

/** A short text in the words of the page. */
export function Said({ text }: { readonly text: string }) {
  return <bdi>{visible(text)}</bdi>
}

/** JSON on one line, each text in it isolated. */
export function Json({ value, max }: { readonly value: unknown; readonly max?: number }) {
  return (
    <bdi dir="ltr" class="json">
      {jsonPieces(value, max).map(({ text, isText }: JsonPiece, i) => (isText ? <bdi key={i}>{text}</bdi> : text))}
    </bdi>
  )
}
