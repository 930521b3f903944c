// Any call of the API, with its paths and bodies completed from the server's own description.
import { useEffect, useId, useState } from 'preact/hooks'
import { callText } from '../../api/request.ts'
import { openapi } from '../../api/server.ts'
import { useAction, useLoad } from '../../load.ts'
import { Code, CopyButton } from '../../parts/code.tsx'
import { SelectField, TextArea } from '../../parts/form.tsx'
import { Badge, PageHead, Panel } from '../../parts/panel.tsx'
import { Empty, Failure, Show } from '../../parts/states.tsx'
import { route } from '../../route.ts'
import { access } from '../../session.ts'
import { bytes, ms } from '../../show.ts'
import { collections } from '../../watch.ts'
import { bodyExample, type Call, callsOf, matching } from './calls.ts'

interface Answer {
  readonly status: number
  readonly text: string
  readonly ms: number
}

const shownMax = 200_000

export function Console() {
  const described = useLoad((signal) => openapi({ signal }), ['openapi'])
  return (
    <>
      <PageHead title="Console" />
      <Show of={described}>{(document) => <Desk calls={callsOf(document)} />}</Show>
    </>
  )
}

function Desk({ calls }: { readonly calls: readonly Call[] }) {
  const id = useId()
  const asked = route.value.query
  const [method, setMethod] = useState(asked.get('method') ?? 'GET')
  const [path, setPath] = useState(asked.get('path') ?? '/api/v2/stats')
  const [body, setBody] = useState('')
  const [scope, setScope] = useState<'data' | 'control'>('data')
  const [answer, setAnswer] = useState<Answer>()
  const { busy, error, run } = useAction()
  const known = matching(calls, method, path)
  const takesBody = known === undefined ? method !== 'GET' : known.body !== undefined
  useEffect(() => {
    if (known?.body !== undefined) setBody(JSON.stringify(bodyExample(known.body), null, 2))
  }, [known?.template, known?.method])
  const send = () =>
    run(async () => {
      const raw = takesBody && body.trim() !== '' ? { raw: { type: 'application/json', data: body } } : {}
      setAnswer(await callText(method, path, { ...raw, scope }))
    })
  return (
    <div class="stack">
      <Panel title="Call" actions={known && <span class="muted">{known.summary}</span>}>
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault()
            void send()
          }}
        >
          <div class="console-line">
            <select aria-label="Method" value={method} onInput={(event) => setMethod(event.currentTarget.value)}>
              {['GET', 'POST', 'PUT', 'DELETE'].map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
            <input
              aria-label="Path"
              class="mono"
              list={`${id}-paths`}
              value={path}
              spellcheck={false}
              onInput={(event) => setPath(event.currentTarget.value)}
            />
            <datalist id={`${id}-paths`}>
              {completions(calls, method).map(({ path: offered, summary }) => (
                <option key={offered} value={offered} label={summary} />
              ))}
            </datalist>
            <button type="submit" class="primary" disabled={busy || !path.startsWith('/')}>
              {busy ? 'Sending…' : 'Send'}
            </button>
          </div>
          {access.value.kind === 'root' && (
            <SelectField
              label="As"
              value={scope}
              options={[
                ['data', `database ${access.value.database ?? ''}`],
                ['control', 'root'],
              ]}
              onInput={setScope}
            />
          )}
          {takesBody && <TextArea label="Body" rows={12} value={body} onInput={setBody} />}
          {known?.body && <BodyFields of={known.body} />}
          {error && <Failure error={error} />}
        </form>
      </Panel>
      {answer === undefined ? (
        <Panel>
          <Empty title="No answer yet">
            <p>Choose a path; paths and bodies come from the server's description of itself.</p>
          </Empty>
        </Panel>
      ) : (
        <AnswerPanel of={answer} />
      )}
    </div>
  )
}

function BodyFields({ of }: { readonly of: NonNullable<Call['body']> }) {
  const fields = Object.entries(of.properties ?? {})
  if (fields.length === 0) return null
  return (
    <details>
      <summary>What the body may hold</summary>
      <dl class="facts">
        {fields.map(([name, schema]) => (
          <>
            <dt class="mono">
              {name}
              {of.required?.includes(name) && <span class="bad"> *</span>}
            </dt>
            <dd>
              <span class="muted">{String(schema.type ?? '')}</span> {schema.description}
            </dd>
          </>
        ))}
      </dl>
    </details>
  )
}

function AnswerPanel({ of }: { readonly of: Answer }) {
  const text = pretty(of.text)
  return (
    <Panel
      title="Answer"
      actions={
        <>
          <Badge kind={of.status < 400 ? 'good' : of.status < 500 ? 'warn' : 'bad'}>{of.status}</Badge>
          <span class="muted num">
            {ms(of.ms)} · {bytes(new Blob([of.text]).size)}
          </span>
          <CopyButton text={of.text} />
        </>
      }
    >
      <Code label="The answer" text={text.length > shownMax ? `${text.slice(0, shownMax)}\n…` : text} rows={36} />
    </Panel>
  )
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/** Templates as they are, and filled with the collections there are. */
function completions(calls: readonly Call[], method: string) {
  return calls
    .filter((call) => call.method === method)
    .flatMap(({ template, summary }) => [
      { path: template, summary },
      ...(template.startsWith('/api/v2/collection/{name}')
        ? (collections.value ?? []).slice(0, 20).map(({ name }) => ({
            path: template.replace('{name}', encodeURIComponent(name)),
            summary,
          }))
        : []),
    ])
}
