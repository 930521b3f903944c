// Texts of users: each is isolated, so that its direction and its marks of direction do not reach the rest of the page, and a long one is
// cut until somebody wants all of it.
import { useState } from 'preact/hooks'
import type { Highlight } from '../api/search.ts'
import { count } from '../show.ts'
import { Scrollable } from './scrollable.tsx'
import { beginningOf, piecesOf } from './text-pieces.ts'

const shownMax = 280

/** The beginning of a text, and all of it on demand. */
export function Excerpt({ text, max = shownMax }: { readonly text: string; readonly max?: number }) {
  const [whole, setWhole] = useState(false)
  const cut = beginningOf(text, max)
  if (cut.length === text.length) return <bdi class="of-text">{text}</bdi>
  return (
    <>
      {whole ? <WholeText text={text} /> : <bdi class="of-text">{cut}…</bdi>}{' '}
      <button type="button" class="link" aria-expanded={whole} onClick={() => setWhole(!whole)}>
        {whole ? 'Less' : `All ${count(text.length)} characters`}
      </button>
    </>
  )
}

/** A long text in a box that the keyboard can scroll. */
function WholeText({ text }: { readonly text: string }) {
  return (
    <Scrollable kind="whole-text">
      <bdi class="of-text">{text}</bdi>
    </Scrollable>
  )
}

/** A fragment with its words marked. The marks are elements, so nothing of the text becomes markup. */
export function Marked({ fragment, ranges }: Pick<Highlight, 'fragment' | 'ranges'>) {
  return (
    <bdi class="of-text">
      {piecesOf(fragment, ranges).map(({ text, marked, start }) =>
        marked ? <mark key={start}>{text}</mark> : <span key={start}>{text}</span>,
      )}
    </bdi>
  )
}
