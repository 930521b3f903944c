// From an object to its neighbors in the graph, and on from there: the path that a search takes.
import { useEffect, useState } from 'preact/hooks'
import { href } from '../../address.ts'
import { getMany, links } from '../../api/objects.ts'
import { useLoad } from '../../load.ts'
import { TextField } from '../../parts/form.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty, Show } from '../../parts/states.tsx'
import { Json, Name } from '../../parts/stored.tsx'

const pathMax = 12

export function Walk(props: {
  readonly collection: string
  readonly field: string
  readonly start: string | undefined
  readonly onStep: (id: string) => void
}) {
  const { start } = props
  const [typed, setTyped] = useState('')
  const [path, setPath] = useState<readonly string[]>([])
  useEffect(() => {
    if (start === undefined) return
    setPath((before) => (before.at(-1) === start ? before : [...before, start].slice(-pathMax)))
  }, [start])
  return (
    <Panel title="Walk the graph">
      <div class="stack tight">
        <form
          class="with-button"
          onSubmit={(event) => {
            event.preventDefault()
            if (typed !== '') props.onStep(typed)
          }}
        >
          <TextField label="From object" value={typed} onInput={setTyped} placeholder="id" />
          <button type="submit" disabled={typed === ''}>
            Start
          </button>
        </form>
        {path.length > 1 && (
          <nav class="row tight small" aria-label="Path">
            {path.slice(0, -1).map((id, i) => (
              <button key={`${i}-${id}`} type="button" class="link mono" onClick={() => props.onStep(id)}>
                <Name text={id} /> →
              </button>
            ))}
          </nav>
        )}
        {start !== undefined && <Neighbors {...props} start={start} />}
      </div>
    </Panel>
  )
}

function Neighbors(props: {
  readonly collection: string
  readonly field: string
  readonly start: string
  readonly onStep: (id: string) => void
}) {
  const { collection, field, start } = props
  const around = useLoad(
    async (signal) => {
      const { links: ids } = await links(collection, start, field, { signal })
      return getMany(collection, ids, { signal })
    },
    [collection, start, field],
  )
  return (
    <>
      <div>
        <a class="mono" href={href(['collections', collection, 'objects'], { id: start })}>
          <strong>
            <Name text={start} />
          </strong>
        </a>{' '}
        <span class="muted">is linked to</span>
      </div>
      <Show source={around}>
        {(objects) =>
          objects.length === 0 ? (
            <Empty title="No neighbors" />
          ) : (
            <ol class="neighbors">
              {objects.map(({ id, meta, filter }) => (
                <li key={id}>
                  <button type="button" class="link mono" onClick={() => props.onStep(id)}>
                    <Name text={id} />
                  </button>
                  <span class="muted small truncate">
                    <Json value={meta ?? filter} max={80} />
                  </span>
                </li>
              ))}
            </ol>
          )
        }
      </Show>
    </>
  )
}
