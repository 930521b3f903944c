// The license of an enterprise server. The scope `control` sends the root token, which starting the trial requires.
import { call } from './request.ts'

export const takeTrial = () =>
  call<{ message: string }>('POST', '/api/v2/license/generate', { body: {}, scope: 'control' })
export const validateLicense = (text: string) =>
  call<{ message: string }>('POST', '/api/v2/license/validate', {
    raw: { type: 'text/plain', data: text },
    scope: 'control',
  })
