// The body of a request, completed while it is written. The list is below the text area, so that it covers nothing on narrow screens.
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { Completion } from './completions.ts'
import { type JsonPlace, placeIn } from './json-place.ts'

interface Offer {
  readonly place: JsonPlace
  readonly completions: readonly Completion[]
  /** Index of the marked completion; -1 if there is none. */
  readonly active: number
}

const rows = 12

export function BodyEditor(props: {
  readonly value: string
  readonly onInput: (value: string) => void
  readonly complete: (place: JsonPlace) => readonly Completion[]
}) {
  const id = useId()
  const area = useRef<HTMLTextAreaElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const [offer, setOffer] = useState<Offer>()
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
  }, [offer?.active])

  const update = ({ isDemanded = false } = {}) => {
    const element = area.current
    if (element === null || element.selectionStart !== element.selectionEnd) return setOffer(undefined)
    const place = placeIn(element.value, element.selectionStart)
    const completions = place === undefined ? [] : props.complete(place)
    const isWritten = place !== undefined && completions.some(({ label }) => label === place.typed)
    if (place === undefined || completions.length === 0 || (!isDemanded && (place.start === place.end || isWritten)))
      return setOffer(undefined)
    setOffer({ place, completions, active: isDemanded ? 0 : -1 })
  }

  const insert = ({ place }: Offer, { inserted }: Completion) => {
    const element = area.current
    if (element === null) return
    element.focus()
    // What follows a key may be written already.
    const end = /^\s*:/.test(element.value.slice(place.end)) ? inserted.replace(/: $/, '') : inserted
    element.setSelectionRange(place.start, place.end)
    // Unlike setting the value, this can be undone by the keys of the browser.
    document.execCommand('insertText', false, end)
    setOffer(undefined)
  }

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === ' ' && event.ctrlKey) {
      event.preventDefault()
      return update({ isDemanded: true })
    }
    if (offer === undefined) return
    const { active, completions } = offer
    const chosen = completions[active]
    if (event.key === 'Escape') setOffer(undefined)
    else if (event.key === 'ArrowDown') setOffer({ ...offer, active: Math.min(active + 1, completions.length - 1) })
    else if (event.key === 'ArrowUp' && active >= 0) setOffer({ ...offer, active: active - 1 })
    else if ((event.key === 'Enter' || event.key === 'Tab') && chosen !== undefined && !event.ctrlKey)
      insert(offer, chosen)
    else return
    event.preventDefault()
  }

  return (
    <div class="field">
      <label for={id}>Body</label>
      <textarea
        id={id}
        ref={area}
        rows={rows}
        value={props.value}
        spellcheck={false}
        aria-autocomplete="list"
        aria-controls={offer && `${id}-list`}
        aria-activedescendant={offer && offer.active >= 0 ? `${id}-${offer.active}` : undefined}
        aria-describedby={`${id}-about`}
        onInput={(event) => {
          props.onInput(event.currentTarget.value)
          update()
        }}
        onKeyDown={onKeyDown}
        onClick={() => setOffer(undefined)}
        onBlur={() => setOffer(undefined)}
      />
      {offer && (
        <div id={`${id}-list`} ref={list} class="completions" role="listbox" aria-label="Completions">
          {offer.completions.map((completion, i) => (
            // The text area has the focus and the keys; the mouse may choose, too.
            <div
              key={completion.label}
              id={`${id}-${i}`}
              role="option"
              tabIndex={-1}
              aria-selected={i === offer.active}
              onMouseDown={(event) => {
                event.preventDefault()
                insert(offer, completion)
              }}
            >
              <bdi class="mono wrap-anywhere">{completion.label}</bdi>{' '}
              {completion.about && <span class="muted small">{completion.about}</span>}
            </div>
          ))}
        </div>
      )}
      <div id={`${id}-about`} class="hint">
        Ctrl + Space lists completions; arrows and Enter choose one. Ctrl + Enter sends.
      </div>
      <span class="visually-hidden" role="status">
        {offer && `${offer.completions.length} completions`}
      </span>
    </div>
  )
}
