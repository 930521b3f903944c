// The only page of a node that has left service: its cluster, with the reason. The node answers no reads of data.
import { signOut } from '../../gate.ts'
import mark from '../../mark.svg'
import { lazy } from '../../parts/lazy.tsx'
import { access } from '../../session.ts'

const ClusterPage = lazy(async () => (await import('./cluster.tsx')).ClusterPage)

export function OutOfService() {
  return (
    <main class="page" id="main">
      <div class="page-head">
        <div class="brand">
          <img src={mark} alt="" /> Annal
        </div>
        {access.value.kind !== 'open' && (
          <button type="button" onClick={signOut}>
            Sign out
          </button>
        )}
      </div>
      <ClusterPage />
    </main>
  )
}
