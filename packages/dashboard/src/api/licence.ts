// The licence of an enterprise server.
import { call } from './request.ts'

export const takeTrial = () =>
  call<{ message: string }>('POST', '/api/v2/license/generate', { body: {}, scope: 'control' })
export const validateLicence = (text: string) =>
  call<{ message: string }>('POST', '/api/v2/license/validate', {
    raw: { type: 'text/plain', data: text },
    scope: 'control',
  })
