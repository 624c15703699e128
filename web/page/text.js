// Shows a text that a language model wrote: what was asked, what it answered, and who
// chose the words.

function quoted(text, kind) {
  return element("blockquote", printable(text), { class: kind, tabindex: "0", dir: "auto" });
}

function tokenList(tokens) {
  const shown = tokens.slice(0, most.numbers).join(" ");
  return element("p", tokens.length > most.numbers ? `${shown} … and ${tokens.length - most.numbers} more` : shown, { class: "ids" });
}

/** Who chose the tokens, for somebody who has to argue with it. */
function whoChose(sampling) {
  if (!sampling) {
    return "Nobody picked these words. At every step the model scored all the pieces of words (tokens) that it knows, and the answer takes the one with the highest score. The proof covers the scores.";
  }
  const among = [];
  if (sampling.topK > 0) among.push(`among the ${sampling.topK} likeliest`);
  if (sampling.topP < 1) among.push(`among the fewest that have ${number(100 * sampling.topP)} % of the weight`);
  return `These words were drawn by lot from the model's own scores, with the seed ${sampling.seed} and the temperature ${number(sampling.temperature)}${among.length ? `, ${among.join(" and ")}` : ""}. ` +
    "The same seed always draws the same words, and this page has drawn them again. Whoever made the proof chose the seed, and may have tried others before.";
}

/** What the proof states of a text. */
function textView(text, sampling, askTokenizer) {
  const box = element("section");
  const read = text.prompt !== null;
  if (text.written && text.promptTokens.length === 0) {
    box.append(element("h3", "Audio"), element("p", "The proof states the samples of the recording that the model listened to. The command's verify --audio compares them with a file."));
  } else {
    box.append(element("h3", text.written ? "Prompt" : "Text"));
    box.append(read ? quoted(text.prompt, "prompt") : tokenList(text.promptTokens));
  }
  if (read && text.hidden > 0) {
    box.append(element("p", `${text.hidden} of its ${text.promptTokens.length} tokens are not shown: marks that are no text, such as the beginning of a turn.`, { class: "note" }));
  }
  if (text.written) {
    box.append(element("h3", "Answer"), read ? quoted(text.answer, "answer") : tokenList(text.tokens.map((t) => t.id)));
    box.append(element("p", whoChose(sampling)));
    box.append(element("p", text.ended
      ? "The model itself ended the answer there."
      : `The answer stops after ${text.tokens.length} tokens because whoever made the proof asked for no more: the model had not ended it.`));
  }
  if (!read) {
    const hint = element("p", text.tokenizer
      ? "These are the numbers of tokens. With the model's tokenizer the page shows them as words. "
      : "These are the numbers of tokens. The model came without a tokenizer, so no words can be shown that the key vouches for. ");
    if (text.tokenizer) {
      const button = element("button", "Choose the tokenizer", { type: "button", id: "ask-tokenizer" });
      button.addEventListener("click", askTokenizer);
      hint.append(button);
    }
    box.append(hint);
  }
  return box;
}

/** Every token that was written, with its score and the best of the others, where the proof states scores. */
function tokensView(tokens) {
  const table = element("table");
  const scored = tokens.every((t) => t.logit !== null);
  table.append(element("caption", scored
    ? "Tokens of the answer: its score (logit), and how far it is above the best of the others"
    : "Tokens of the answer: each is proved to have the greatest score (logit)"));
  const head = element("tr");
  for (const title of scored ? ["token", "score", "margin", "best other"] : ["token"]) head.append(element("th", title, { scope: "col" }));
  table.append(head);
  const name = ({ id, piece }) => (piece === null ? `${id}` : `${JSON.stringify(printable(piece))} ${id}`);
  for (const t of tokens.slice(0, most.numbers)) {
    const line = element("tr");
    line.append(element("th", name(t), { scope: "row" }));
    if (scored) line.append(element("td", number(t.logit)), element("td", t.other ? number(t.logit - t.other.logit) : ""), element("td", t.other ? name(t.other) : "", { class: "piece" }));
    table.append(line);
  }
  return table;
}
