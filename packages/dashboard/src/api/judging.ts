// Searches in the words of the client, for pages that judge them.
import { Collection } from '@annal/client'
import { collectionRoutes, routedTransport } from '@annal/client/http'
import { authorization } from '../session.ts'
import { connectionWith } from './connection.ts'

export const searchedCollection = (name: string): Collection =>
  new Collection(routedTransport(connectionWith(authorization()), collectionRoutes), name)
