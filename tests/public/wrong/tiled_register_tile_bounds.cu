//!tilelab block=(BM*BN/TM) grid=(ceil(Width/BN), ceil(Width/BM)) tile=BN
#define BM 32
#define BN 32
#define BK 8
#define TM 4
__global__ void MatrixMulKernel(const float *A, const float *B, float *C, int n) {
  __shared__ float As[BM * BK];
  __shared__ float Bs[BK * BN];
  const int tid = threadIdx.x, threadCol = tid % BN, threadRow = tid / BN;
  A += blockIdx.y * BM * n;
  B += blockIdx.x * BN;
  C += blockIdx.y * BM * n + blockIdx.x * BN;
  float results[TM] = {0.0f};
  for (int bk = 0; bk < n; bk += BK) {
    As[tid] = A[(tid / BK) * n + tid % BK];
    Bs[tid] = B[(tid / BN) * n + tid % BN];
    __syncthreads();
    A += BK;
    B += BK * n;
    for (int d = 0; d < BK; ++d)
      for (int r = 0; r < TM; ++r) results[r] += As[(threadRow * TM + r) * BK + d] * Bs[d * BN + threadCol];
    __syncthreads();
  }
  for (int r = 0; r < TM; ++r) C[(threadRow * TM + r) * n + threadCol] = results[r];
}
