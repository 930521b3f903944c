// The root component: sign-in first, then the frame with the page that the address names.
import { useEffect } from 'preact/hooks'
import { Router } from 'wouter-preact'
import { useHashPath } from './address.ts'
import { checkServer, gate } from './gate.ts'
import { OutOfService } from './pages/cluster/out-of-service.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { Toasts } from './parts/toast.tsx'
import { Shell } from './shell.tsx'

export function App() {
  useEffect(() => void checkServer(), [])
  return (
    <Router hook={useHashPath}>
      <Entrance />
      <Toasts />
    </Router>
  )
}

function Entrance() {
  const state = gate.value
  if (state.kind === 'in') return <Shell />
  return state.kind === 'out-of-service' ? <OutOfService /> : <SignIn state={state} />
}
