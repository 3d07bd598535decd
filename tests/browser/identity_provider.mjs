// A certified provider of OpenID Connect on this machine. Its argument is JSON: port, client and accounts.
// The sign-in form takes any password. Prints "ready" when it listens.

import { Provider } from "oidc-provider";

const given = JSON.parse(process.argv[2]);
const provider = new Provider(`http://127.0.0.1:${given.port}`, {
  clients: [{ ...given.client, grant_types: ["authorization_code"], response_types: ["code"] }],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
  conformIdTokenClaims: given.conform,
  features: { devInteractions: { enabled: true }, backchannelLogout: { enabled: true } },
  pkce: { required: () => true },
  cookies: { keys: ["for tests only"] },
  findAccount: (_, id) => given.accounts[id] && {
    accountId: id,
    claims: () => ({ sub: id, ...given.accounts[id] }),
  },
});
provider.on("server_error", (_, error) => console.error(error));
provider.listen(given.port, "127.0.0.1", () => console.log("ready"));
