#define BLOCK_SIZE 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
	int Mstart=Width*BLOCK_SIZE*blockIdx.y;
	int Mend=Mstart+Width-1;
	float temp=0;
	__shared__ float Ms[BLOCK_SIZE][BLOCK_SIZE];
	__shared__ float Ns[BLOCK_SIZE][BLOCK_SIZE];
	Ms[threadIdx.y][threadIdx.x]=M[Mstart+Width*threadIdx.y+threadIdx.x];
	Ns[threadIdx.y][threadIdx.x]=N[BLOCK_SIZE*blockIdx.x+Width*threadIdx.y+threadIdx.x];
	for(int m=Mstart+BLOCK_SIZE,n=BLOCK_SIZE*blockIdx.x+BLOCK_SIZE*Width;;m+=BLOCK_SIZE,n+=BLOCK_SIZE*Width){
		__syncthreads();
		for (int i = 0; i < BLOCK_SIZE; ++i) {
			temp += Ms[threadIdx.y][i] * Ns[i][threadIdx.x];
		}
		if (m>=Mend) break;
		Ms[threadIdx.y][threadIdx.x]=M[m+Width*threadIdx.y+threadIdx.x];
		Ns[threadIdx.y][threadIdx.x]=N[n+Width*threadIdx.y+threadIdx.x];
	}
	P[Width*BLOCK_SIZE*blockIdx.y+BLOCK_SIZE*blockIdx.x+Width*threadIdx.y+threadIdx.x]=temp;
}
