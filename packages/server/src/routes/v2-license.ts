// /api/v2/license: start the trial, activate a license. The trial can be started once per data directory, so it needs the root
// token. A license needs only its signature, so any caller can activate one (decision 16).
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { enterpriseOnly } from '../access/access.ts'
import { invalidArgument } from '../errors.ts'
import type { RouteDoc } from '../http/route-doc.ts'
import { licenseBytesMax } from '../license/license-file.ts'
import type { LicenseStatus, Licensing } from '../license/licensing.ts'
import type { RouteContext } from '../route-context.ts'
import { type Infer, optionalText } from '../wire/schema.ts'
import { licenseInfo } from '../wire/v2-license.ts'

const generateBody = Type.Unsafe<{ readonly email?: string | null } | null>({
  type: ['object', 'null'],
  properties: { email: optionalText('Sent by published dashboards; not stored.') },
})

/** Adds the license routes of enterprise mode. */
export function v2LicenseRoutes(app: FastifyInstance, { licensing, guard, grants }: RouteContext): void {
  const required = (): Licensing => {
    if (licensing === undefined) throw enterpriseOnly()
    return licensing
  }

  const generate = {
    schema: { body: generateBody },
    config: { doc: docs.generate, audit: 'license.generate', requestKey: noRecord },
  }
  app.post<{ Body: Infer<typeof generateBody> }>('/license/generate', generate, async () => {
    const taken = await required().takeTrial()
    return replyOf('The trial is active', taken)
  })

  // Only this route accepts text.
  app.register(async (scope) => {
    scope.addContentTypeParser(
      ['text/plain', 'application/octet-stream'],
      { parseAs: 'string', bodyLimit: licenseBytesMax },
      (_request, body, done) => done(null, body),
    )
    const validate = {
      bodyLimit: licenseBytesMax,
      config: { doc: docs.validate, audit: 'license.validate', requestKey: noRecord },
    }
    scope.post('/license/validate', validate, async ({ body, headers, ip }) => {
      const licenses = required()
      if (typeof body !== 'string') throw invalidArgument('send the text of license.lic', { field: 'body' })
      const byRoot = await guard.mayKnowAll(headers.authorization, ip)
      const activated = await licenses.activate(body.trim(), { byRoot })
      await grants.licenseChanged()
      return replyOf('The license is active', activated)
    })
  })
}

const noRecord = { refused: 'a license is a file, and activating it again changes nothing' }

function replyOf(what: string, status: LicenseStatus) {
  const license = licenseInfo(status)
  return { message: `${what} until ${license.end_date} UTC`, license }
}

const docs = {
  generate: {
    access: 'server',
    summary: 'Starts the trial of one month, once per data directory. It is active immediately. Needs the root token.',
    reply: { description: 'message, and license as in /info.', json: 'LicenseReply' },
  },
  validate: {
    access: 'open',
    summary: 'Activates a license from the text of a license.lic, effective immediately.',
    body: Type.String({ description: 'The text of license.lic.' }),
    bodyMedia: ['text/plain', 'application/octet-stream'],
    reply: { description: 'message, and license as in /info.', json: 'LicenseReply' },
  },
} satisfies Record<string, RouteDoc>
