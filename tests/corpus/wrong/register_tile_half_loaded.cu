//!tilelab block=(16,16) grid=(ceil(Width/64), ceil(Width/64)) 
constexpr int BM = 64, BN = 64, BK = 8, TM = 4, TN = 4;
__global__ void MatrixMulKernel(float const* __restrict__ M, float const* __restrict__ N, float* __restrict__ P, int Width)
{
    __shared__ float sa[BK][BM];
    __shared__ float sb[BK][BN];
    int tid = threadIdx.y * blockDim.x + threadIdx.x;
    int tm = (tid / (BN / TN)) * TM, tn = (tid % (BN / TN)) * TN;
    float acc[TM][TN] = {{0.f}};
    for (int k0 = 0; k0 < Width; k0 += BK) {
        // mistake: 256 threads, 512 elements: only half of them loaded
        { int i = tid; int r = blockIdx.y * BM + i / BK, c = k0 + i % BK; sa[i % BK][i / BK] = r < Width && c < Width ? M[r * Width + c] : 0.f; }
        for (int i = tid; i < BK * BN; i += 256) { int r = k0 + i / BN, c = blockIdx.x * BN + i % BN; sb[i / BN][i % BN] = r < Width && c < Width ? N[r * Width + c] : 0.f; }
        __syncthreads();
        for (int k = 0; k < BK; ++k)
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j)
                    acc[i][j] += sa[k][tm + i] * sb[k][tn + j];
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) {
            int r = blockIdx.y * BM + tm + i, c = blockIdx.x * BN + tn + j;
            if (r < Width && c < Width) P[r * Width + c] = acc[i][j];
        }
}
