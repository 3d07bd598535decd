#define ROWS 128
#define COLUMNS 128
#define DEPTH 8

// 256 threads make 128 x 128 elements of P, 8 x 8 each; the next tiles are on their way while these are multiplied.
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
  __shared__ float Ms[2][DEPTH][ROWS];
  __shared__ float Ns[2][DEPTH][COLUMNS];
  int t = threadIdx.x, tx = t % 16, ty = t / 16;
  int loadRow = t / 2, loadDepth = t % 2 * 4, loadLine = t / 32, loadColumn = t % 32 * 4;
  const float* fromM = M + (blockIdx.y * ROWS + loadRow) * Width + loadDepth;
  const float* fromN = N + loadLine * Width + blockIdx.x * COLUMNS + loadColumn;
  float sum[8][8] = {};
  float4 m = *(const float4*)fromM, n = *(const float4*)fromN;
  Ms[0][loadDepth][loadRow] = m.x;
  Ms[0][loadDepth + 1][loadRow] = m.y;
  Ms[0][loadDepth + 2][loadRow] = m.z;
  Ms[0][loadDepth + 3][loadRow] = m.w;
  *(float4*)&Ns[0][loadLine][loadColumn] = n;
  __syncthreads();
  int now = 0;
  for (int at = DEPTH; at <= Width; at += DEPTH) {
    if (at < Width) {
      m = *(const float4*)(fromM + at);
      n = *(const float4*)(fromN + at * Width);
    }
#pragma unroll
    for (int k = 0; k < DEPTH; ++k) {
      float left[8], right[8];
      *(float4*)left = *(float4*)&Ms[now][k][ty * 4];
      *(float4*)(left + 4) = *(float4*)&Ms[now][k][ty * 4 + 64];
      *(float4*)right = *(float4*)&Ns[now][k][tx * 4];
      *(float4*)(right + 4) = *(float4*)&Ns[now][k][tx * 4 + 64];
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) sum[i][j] += left[i] * right[j];
    }
    if (at < Width) {
      now ^= 1;
      Ms[now][loadDepth][loadRow] = m.x;
      Ms[now][loadDepth + 1][loadRow] = m.y;
      Ms[now][loadDepth + 2][loadRow] = m.z;
      Ms[now][loadDepth + 3][loadRow] = m.w;
      *(float4*)&Ns[now][loadLine][loadColumn] = n;
      __syncthreads();
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    int row = blockIdx.y * ROWS + ty * 4 + i % 4 + i / 4 * 64;
    float* to = P + row * Width + blockIdx.x * COLUMNS + tx * 4;
    *(float4*)to = *(float4*)sum[i];
    *(float4*)(to + 64) = *(float4*)(sum[i] + 4);
  }
}
