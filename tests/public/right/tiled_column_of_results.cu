//!tilelab block=(BM*BN/TM) grid=(ceil(Width/BN), ceil(Width/BM)) tile=BN
#define BM 32
#define BN 32
#define BK 8
#define TM 4
__global__ void MatrixMulKernel(const float *A, const float *B, float *C, int n) {
  __shared__ float As[BM][BK];
  __shared__ float Bs[BK][BN];
  const int tid = threadIdx.x;
  const int threadCol = tid % BN, threadRow = tid / BN;
  const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
  const int innerColA = tid % BK, innerRowA = tid / BK;
  const int innerColB = tid % BN, innerRowB = tid / BN;
  float results[TM] = {0.0f};

  for (int bk = 0; bk < n; bk += BK) {
    const int ar = row0 + innerRowA, ac = bk + innerColA;
    const int br = bk + innerRowB, bc = col0 + innerColB;
    As[innerRowA][innerColA] = (ar < n && ac < n) ? A[ar * n + ac] : 0.0f;
    Bs[innerRowB][innerColB] = (br < n && bc < n) ? B[br * n + bc] : 0.0f;
    __syncthreads();
    for (int d = 0; d < BK; ++d) {
      const float fromB = Bs[d][threadCol];
      for (int r = 0; r < TM; ++r) results[r] += As[threadRow * TM + r][d] * fromB;
    }
    __syncthreads();
  }
  for (int r = 0; r < TM; ++r) {
    const int row = row0 + threadRow * TM + r, col = col0 + threadCol;
    if (row < n && col < n) C[row * n + col] = results[r];
  }
}
