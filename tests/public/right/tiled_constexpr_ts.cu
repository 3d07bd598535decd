constexpr int TS = 32;
__global__ void MatrixMulKernel(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int N)
{
    __shared__ float sA[TS][TS];
    __shared__ float sB[TS][TS];
    const int r = blockIdx.y * blockDim.y + threadIdx.y;
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    float acc = 0.f;
    const int tiles = (N + TS - 1) / TS;
    for (int t = 0; t < tiles; ++t) {
        const int ac = t * TS + threadIdx.x;
        const int br = t * TS + threadIdx.y;
        sA[threadIdx.y][threadIdx.x] = (r < N && ac < N) ? A[r * N + ac] : 0.f;
        sB[threadIdx.y][threadIdx.x] = (br < N && c < N) ? B[br * N + c] : 0.f;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < TS; ++k) acc = fmaf(sA[threadIdx.y][k], sB[k][threadIdx.x], acc);
        __syncthreads();
    }
    if (r < N && c < N) C[r * N + c] = acc;
}
