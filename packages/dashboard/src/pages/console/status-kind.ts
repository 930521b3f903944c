// How a status of HTTP is shown.

export function statusKind(status: number): 'good' | 'warn' | 'bad' {
  if (status < 400) return 'good'
  return status < 500 ? 'warn' : 'bad'
}
