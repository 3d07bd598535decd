// A mail server on this machine that fails as real ones do. Its argument is JSON: port, the file with key and
// certificate, a file for what it took, and how many of 100 e-mails fail in each way. Prints "ready" when it listens.

import { appendFileSync, readFileSync } from "node:fs";
import { SMTPServer } from "smtp-server";

const given = JSON.parse(process.argv[2]);
const own = readFileSync(given.certificate);
const chance = (share) => Math.random() * 100 < share;
const refusal = (text, responseCode) => Object.assign(new Error(text), { responseCode });

const server = new SMTPServer({
  key: own,
  cert: own,
  authOptional: false,
  onAuth: (auth, _, answer) =>
    auth.password === given.password ? answer(null, { user: auth.username }) : answer(refusal("wrong", 535)),
  onMailFrom: (_, __, answer) => answer(chance(given.busy) ? refusal("busy", 451) : null),
  onRcptTo: (to, _, answer) => answer(to.address.startsWith("unknown") ? refusal("unknown", 550) : null),
  onData: (stream, session, answer) => {
    const connection = [...server.connections].find((each) => each.id === session.id)._socket;
    let text = "";
    stream.on("data", (chunk) => (text += chunk));
    stream.on("end", () => {
      if (chance(given.dropped)) return connection.destroy();
      const unanswered = chance(given.unanswered);
      const id = /^Message-ID: (.*)$/m.exec(text)[1];
      appendFileSync(given.taken, `${JSON.stringify([id, session.envelope.rcptTo[0].address, unanswered])}\n`);
      if (unanswered) return connection.destroy();
      setTimeout(() => answer(null), chance(5) ? 50 : 0);
    });
  },
});
server.on("error", () => undefined);
server.listen(given.port, "127.0.0.1", () => console.log("ready"));
