// The newest requests, updated live.
import { useState } from 'preact/hooks'
import { withoutReads } from '../../api/own-reads.ts'
import { logs } from '../../api/server.ts'
import { useLoad } from '../../load.ts'
import { Check } from '../../parts/form.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty, Show } from '../../parts/states.tsx'
import { Said } from '../../parts/stored.tsx'

const everyMs = 3_000
const linesWanted = 200
const linesShown = 60

export function LogTail() {
  const [follow, setFollow] = useState(true)
  const [words, setWords] = useState('')
  const [withOwn, setWithOwn] = useState(false)
  const tail = useLoad((signal) => logs(linesWanted, { signal }), ['logs'], {
    everyMs: follow ? everyMs : undefined,
  })
  return (
    <Panel
      flush
      title="Newest requests"
      actions={
        <>
          <input
            type="search"
            class="id-box"
            aria-label="Filter lines"
            placeholder="Filter lines…"
            value={words}
            onInput={(event) => setWords(event.currentTarget.value)}
          />
          <Check label="Requests of the dashboard" checked={withOwn} onInput={setWithOwn} />
          <Check label="Follow" checked={follow} onInput={setFollow} />
        </>
      }
    >
      <Show source={tail}>
        {({ lines }) => (
          <Lines
            lines={(withOwn ? lines : withoutReads(lines)).filter((line) =>
              line.toLowerCase().includes(words.toLowerCase()),
            )}
          />
        )}
      </Show>
    </Panel>
  )
}

function Lines({ lines }: { readonly lines: readonly string[] }) {
  if (lines.length === 0) return <Empty title="No requests yet" />
  return (
    <ol class="log" aria-label="Requests, newest first">
      {[...lines]
        .reverse()
        .slice(0, linesShown)
        .map((line, i) => (
          // Lines can repeat and are identified only by their position.
          <li key={`${lines.length - i} ${line}`} class={levelOf(line)}>
            <Said text={line} />
          </li>
        ))}
    </ol>
  )
}

function levelOf(line: string): string {
  const level = /\b(ERROR|ERR|FATAL|WARN|WARNING)(_\d+)?:/.exec(line)?.[1]
  if (level === undefined) return / 5\d\d \(/.test(line) ? 'bad' : / 4\d\d \(/.test(line) ? 'warn' : ''
  return level.startsWith('WARN') ? 'warn' : 'bad'
}
