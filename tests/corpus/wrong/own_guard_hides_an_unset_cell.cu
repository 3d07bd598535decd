__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ int marks[1024];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, both;
    if (t % 2 == 1) marks[t] = 5;
    int mark = marks[t];
    asm("{ .reg .pred p;\n setp.eq.s32 p, %1, 0;\n @p setp.eq.s32 p, %2, 4;\n selp.s32 %0, 1, 0, p;\n }"
        : "=r"(both) : "r"(t % 2), "r"(mark));
    if (i < n) C[i] = A[i] + B[i] + both;
}
