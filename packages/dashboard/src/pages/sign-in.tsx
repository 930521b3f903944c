// Everything that can stand between the user and the server: it starts, it does not answer, it wants a token.
import { useState } from 'preact/hooks'
import { approach, type Gate, signIn } from '../gate.ts'
import { useAction } from '../load.ts'
import mark from '../mark.svg'
import { Check, TextField } from '../parts/form.tsx'
import { Bar } from '../parts/panel.tsx'
import { Failure } from '../parts/states.tsx'
import { count } from '../show.ts'

export function SignIn({ state }: { readonly state: Exclude<Gate, { kind: 'in' }> }) {
  return (
    <main class="gate">
      <div class="card stack">
        <div class="brand">
          <img src={mark} alt="" /> Annal
        </div>
        <div class="panel">
          <div class="body stack">
            <State state={state} />
          </div>
        </div>
      </div>
    </main>
  )
}

function State({ state }: { readonly state: Exclude<Gate, { kind: 'in' }> }) {
  switch (state.kind) {
    case 'asking':
      return <p class="muted">Asking the server…</p>
    case 'unreachable':
      return (
        <>
          <h1>The server does not answer</h1>
          <p class="muted">It may be stopped, or the network is down. This page tries again by itself.</p>
          <div>
            <button type="button" onClick={() => void approach()}>
              Try now
            </button>
          </div>
        </>
      )
    case 'starting':
      return <Starting progress={state.progress} />
    case 'failed':
      return (
        <>
          <h1>The server has failed</h1>
          {state.reasons.map((reason) => (
            <p key={reason}>{reason}</p>
          ))}
          <p class="muted">Its log says more. What was acknowledged is on disk.</p>
        </>
      )
    case 'token':
      return <TokenForm error={state.error} />
  }
}

function Starting({ progress }: { readonly progress: Extract<Gate, { kind: 'starting' }>['progress'] }) {
  const share = progress === undefined || progress.total === 0 ? 0 : progress.done / progress.total
  const jobs: Record<string, string> = { replay: 'Replaying the log', 'snapshot-load': 'Loading the snapshot' }
  return (
    <>
      <h1>The server is starting</h1>
      {progress === undefined ? (
        <p class="muted">It reads its log. Every write that was acknowledged is there when it is done.</p>
      ) : (
        <>
          <Bar share={share} label="Progress of the start" />
          <p class="muted num">
            {jobs[progress.job] ?? progress.job}
            {progress.collection && ` of ${progress.collection}`}: {count(progress.done)} of {count(progress.total)}{' '}
            {progress.unit}
          </p>
        </>
      )}
    </>
  )
}

function TokenForm({ error: before }: { readonly error: Error | undefined }) {
  const [token, setToken] = useState('')
  const [keep, setKeep] = useState(true)
  const { busy, error, run } = useAction()
  const shown = error ?? before
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        if (token.trim() !== '') void run(() => signIn(token.trim(), { keep }))
      }}
    >
      <h1>Sign in</h1>
      <p class="muted">This server asks for a token: the server's own, a database's, or the root token.</p>
      <TextField
        label="Token"
        type="password"
        value={token}
        onInput={setToken}
        autocomplete="current-password"
        focus
        error={shown === undefined ? undefined : 'This token did not open the server.'}
      />
      <Check label="Remember until this tab is closed" checked={keep} onInput={setKeep} />
      {shown && <Failure error={shown} />}
      <button type="submit" class="primary" disabled={busy || token.trim() === ''}>
        {busy ? 'Checking…' : 'Sign in'}
      </button>
    </form>
  )
}
