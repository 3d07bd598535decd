__global__ void MatrixMulKernel(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int n)
{
    __shared__ float s[2][2][TILE_WIDTH * TILE_WIDTH];
    float *curA = s[0][0], *curB = s[0][1], *nxtA = s[1][0], *nxtB = s[1][1];
    int tx = threadIdx.x, ty = threadIdx.y, me = ty * TILE_WIDTH + tx;
    int r = blockIdx.y * TILE_WIDTH + ty, c = blockIdx.x * TILE_WIDTH + tx;
    auto loadA = [&](int t) { int k = t * TILE_WIDTH + tx; return r < n && k < n ? __ldg(&A[r * n + k]) : 0.0f; };
    auto loadB = [&](int t) { int k = t * TILE_WIDTH + ty; return c < n && k < n ? __ldg(B + k * n + c) : 0.0f; };
    int tiles = (n - 1) / TILE_WIDTH + 1;
    curA[me] = loadA(0);
    curB[me] = loadB(0);
    __syncthreads();
    float sum = 0.0f;
    for (int t = 0; t < tiles; t++) {
        float ra = 0, rb = 0;
        if (t + 1 < tiles) { ra = loadA(t + 1); rb = loadB(t + 1); }
#pragma unroll
        for (int k = 0; k < TILE_WIDTH; k++)
            sum = fmaf(curA[ty * TILE_WIDTH + k], curB[k * TILE_WIDTH + tx], sum);
        nxtA[me] = ra;
        nxtB[me] = rb;
        __syncthreads();
        float *q = curA; curA = nxtA; nxtA = q;
        q = curB; curB = nxtB; nxtB = q;
    }
    if (r < n && c < n) C[r * n + c] = sum;
}
