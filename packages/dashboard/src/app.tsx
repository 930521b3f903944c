// The root component: sign-in first, then the frame with the page that the address names.
import { useEffect } from 'preact/hooks'
import { Router } from 'wouter-preact'
import { useHashPath } from './address.ts'
import { checkServer, gate } from './gate.ts'
import { SignIn } from './pages/sign-in.tsx'
import { Toasts } from './parts/toast.tsx'
import { Shell } from './shell.tsx'

export function App() {
  useEffect(() => void checkServer(), [])
  return (
    <Router hook={useHashPath}>
      {gate.value.kind === 'in' ? <Shell /> : <SignIn state={gate.value} />}
      <Toasts />
    </Router>
  )
}
