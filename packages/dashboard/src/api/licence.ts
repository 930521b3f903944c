// The license of an enterprise server. The scope `control` sends the root token, which the trial needs.
import { call } from './request.ts'

export const takeTrial = () =>
  call<{ message: string }>('POST', '/api/v2/license/generate', { body: {}, scope: 'control' })
export const validateLicence = (text: string) =>
  call<{ message: string }>('POST', '/api/v2/license/validate', {
    raw: { type: 'text/plain', data: text },
    scope: 'control',
  })
