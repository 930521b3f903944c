// The whole: first the way in, then the frame with the page that the address names.
import { useEffect } from 'preact/hooks'
import { approach, gate } from './gate.ts'
import { SignIn } from './pages/sign-in.tsx'
import { Toasts } from './parts/toast.tsx'
import { Shell } from './shell.tsx'

export function App() {
  useEffect(() => void approach(), [])
  return (
    <>
      {gate.value.kind === 'in' ? <Shell /> : <SignIn state={gate.value} />}
      <Toasts />
    </>
  )
}
