import type { ApproveOption, ApproveParams, AskParams } from "./ext";

/**
 * The server's questions to the user that are not answered yet. The chat, the
 * notifications and the commands all show what is in here and answer it here, so that
 * an answer in one place closes the question in the others. Nothing of the editor is
 * imported, so that unit tests reach it.
 */

/** A question, as it is shown. An approval is refused when nobody answers, a question gets an empty answer. */
export interface Question {
  /** "approve:CALL" or "ask:NUMBER"; unique in this window. */
  id: string;
  kind: "approve" | "ask";
  sessionId: string;
  /** One line. */
  title: string;
  /** Markdown; may be empty. */
  detail: string;
  /** What to choose from; none: a text is asked for. */
  options: ApproveOption[];
  subject?: ApproveParams["subject"];
}

/** What the user chose or typed. */
export interface Answer {
  /** Of Question.options. */
  optionId?: string;
  /** What the user says beside a refusal, or the answer to a question without options. */
  text?: string;
}

/** What happened to a question; "closed" without an answer: it was withdrawn. */
export type QuestionChange =
  | { type: "asked"; question: Question }
  | { type: "closed"; question: Question; answer?: Answer };

/** Ends a subscription. */
export interface Subscription {
  dispose(): void;
}

export class QuestionStore {
  private readonly waiting = new Map<string, { question: Question; resolve: (a: Answer | undefined) => void }>();
  private readonly listeners = new Set<(c: QuestionChange) => void>();
  private asked = 0;

  /** The questions that wait, oldest first. */
  get open(): Question[] {
    return [...this.waiting.values()].map((w) => w.question);
  }

  onDidChange(listener: (c: QuestionChange) => void): Subscription {
    this.listeners.add(listener);
    return { dispose: () => this.listeners.delete(listener) };
  }

  /** Puts an approval to the user. Resolves with the answer; undefined when it was withdrawn. */
  approve(p: ApproveParams): Promise<Answer | undefined> {
    return this.put({
      id: `approve:${p.callId}`,
      kind: "approve",
      sessionId: p.sessionId,
      title: p.title,
      detail: p.detail,
      options: p.options,
      subject: p.subject,
    });
  }

  /** Puts a question to the user, as approve does. */
  ask(p: AskParams): Promise<Answer | undefined> {
    const options = (p.options ?? []).map((o): ApproveOption => {
      const label = typeof o === "string" ? o : o.label;
      return { optionId: label, label, kind: "once" };
    });
    return this.put({ id: `ask:${++this.asked}`, kind: "ask", sessionId: p.sessionId, title: p.question, detail: "", options });
  }

  /** Answers a question; false when it is not open any more or has no such option. */
  answer(id: string, answer: Answer): boolean {
    const w = this.waiting.get(id);
    if (!w || (answer.optionId !== undefined && !w.question.options.some((o) => o.optionId === answer.optionId))) {
      return false;
    }
    this.close(id, answer);
    return true;
  }

  /** Takes a question back: the server does not wait for it any more. */
  withdraw(id: string): void {
    this.close(id, undefined);
  }

  /** Takes every question back: the server that asked is gone. */
  withdrawAll(): void {
    for (const id of [...this.waiting.keys()]) {
      this.close(id, undefined);
    }
  }

  private put(question: Question): Promise<Answer | undefined> {
    this.close(question.id, undefined); // asked again: the earlier one is moot
    return new Promise((resolve) => {
      this.waiting.set(question.id, { question, resolve });
      this.tell({ type: "asked", question });
    });
  }

  private close(id: string, answer: Answer | undefined): void {
    const w = this.waiting.get(id);
    if (w) {
      this.waiting.delete(id);
      w.resolve(answer);
      this.tell({ type: "closed", question: w.question, ...(answer ? { answer } : {}) });
    }
  }

  private tell(c: QuestionChange): void {
    for (const l of [...this.listeners]) {
      l(c);
    }
  }
}

/** The label of what was chosen, for showing a question that is closed. */
export function chosenLabel(q: Question, a: Answer | undefined): string {
  const option = q.options.find((o) => o.optionId === a?.optionId);
  return [option?.label, a?.text].filter(Boolean).join(": ") || "Not answered";
}
