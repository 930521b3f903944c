// The newest requests that were sent from the console of this browser.
import { Badge } from '../../parts/panel.tsx'
import { count, dateTime } from '../../show.ts'
import { type ConsoleRequest, forgetPast, pastRequests } from './console-store.ts'
import { statusKind } from './status-kind.ts'

export function HistoryPanel({ onOpen }: { readonly onOpen: (request: ConsoleRequest) => void }) {
  const past = pastRequests()
  if (past.length === 0) return null
  return (
    <section class="panel" aria-label="History">
      <details class="history">
        <summary>
          History <span class="muted num">{count(past.length)}</span>
        </summary>
        <ul>
          {past.map(({ status, at, ...request }) => (
            <li key={`${at} ${request.method} ${request.path}`}>
              <button type="button" class="link grow" onClick={() => onOpen(request)}>
                <span class="mono">
                  {request.method} <bdi>{request.path}</bdi>
                </span>
              </button>
              <Badge kind={statusKind(status)}>{status}</Badge>
              <span class="muted small num">{dateTime(at)}</span>
            </li>
          ))}
        </ul>
        <div class="row spread">
          <span class="muted small">Kept in this browser until you sign out, without replies.</span>
          <button type="button" class="compact" onClick={forgetPast}>
            Clear the history
          </button>
        </div>
      </details>
    </section>
  )
}
