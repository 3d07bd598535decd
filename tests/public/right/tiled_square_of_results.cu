//!tilelab block=(NT) grid=(ceil(Width/BN), ceil(Width/BM)) tile=BN
#define BM 32
#define BN 32
#define BK 8
#define TM 4
#define TN 4
#define NT ((BM / TM) * (BN / TN))
__global__ void __launch_bounds__(NT, 1)
MatrixMulKernel(const float* A, const float* B, float* C, int n)
{
    __shared__ float As[BM * BK];
    __shared__ float Bs[BK * BN];
    const int tc = threadIdx.x % (BN / TN), tr = threadIdx.x / (BN / TN);
    const int rowBase = blockIdx.y * BM, colBase = blockIdx.x * BN;
    float acc[TM * TN] = {0.0f};
    float regM[TM], regN[TN];
    for (int bk = 0; bk < n; bk += BK) {
        for (int i = threadIdx.x; i < BM * BK; i += NT) {
            int r = rowBase + i / BK, c = bk + i % BK;
            As[i] = r < n && c < n ? A[r * n + c] : 0.0f;
        }
        for (int i = threadIdx.x; i < BK * BN; i += NT) {
            int r = bk + i / BN, c = colBase + i % BN;
            Bs[i] = r < n && c < n ? B[r * n + c] : 0.0f;
        }
        __syncthreads();
        for (int d = 0; d < BK; ++d) {
            for (int i = 0; i < TM; ++i) regM[i] = As[(tr * TM + i) * BK + d];
            for (int j = 0; j < TN; ++j) regN[j] = Bs[d * BN + tc * TN + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) acc[i * TN + j] += regM[i] * regN[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) {
            int r = rowBase + tr * TM + i, c = colBase + tc * TN + j;
            if (r < n && c < n) C[r * n + c] = acc[i * TN + j];
        }
}
